"""The lectures' examples as pages to play with. Data are made up here, so that true values may be shown."""
