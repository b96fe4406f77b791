"""The query pipelines: each reads like the table of contents of its theory page."""
