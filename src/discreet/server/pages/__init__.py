"""Web pages over the same curators: rendered here, with our own stylesheet and script and nothing from elsewhere."""
