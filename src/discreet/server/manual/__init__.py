"""The documentation as pages: of the server under /docs, and as a site of files that needs no server."""
