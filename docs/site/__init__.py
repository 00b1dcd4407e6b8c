"""The site: these pages, one for every environment and demonstration, and a reference of all public names.

``python -m docs.site`` builds it in runs/site (``make docs``). Pages are copied to a folder of their own first, where
links into the repository become links within the site, and what is generated is written beside them. Nothing on the
site is fetched from elsewhere when it is read.
"""
