"""The lectures' examples as pages to play with. Data are invented, so that true values may be shown."""
