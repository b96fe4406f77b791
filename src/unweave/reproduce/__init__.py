"""Algorithms, tables and figures of the source documents, one folder per document; nothing else imports it."""
