"""The curator's server: questions over HTTP, for people and programs that never see a file of the data."""
