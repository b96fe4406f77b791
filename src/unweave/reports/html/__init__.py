"""Reports as one HTML file each: nothing is loaded, everything that comes from elsewhere is escaped.

Pages are trees of `xml.etree.ElementTree`, whose serialiser escapes every text and attribute: no string is ever put
together with markup, so that no name of a model or a feature can become markup, and no template engine is needed.
"""
