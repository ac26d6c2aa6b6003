"""The curator of private tables: tasks, plans and data versions around the one exit."""
