"""LSF configuration directories as instances: ``site_document("conf").instance()``.

``source`` texts with their place, ``lines`` (comments, #INCLUDE, #if), ``sections`` (pairs and
tables); one module per file; ``draft`` the document in the making; ``notes`` the report.
"""

from __future__ import annotations

from .site import Site, site_document

__all__ = ["Site", "site_document"]
