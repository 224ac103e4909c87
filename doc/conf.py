"""The documentation site, from the pages of this folder: ``make docs``.

Sphinx with MyST for the pages, sphinx-gallery for examples/, and two small extensions in the folder site/: the pages of
the API, and links to files that are not pages.
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent)]
os.environ["MPLBACKEND"] = "Agg"

from gallery import gallery_settings  # noqa: E402

project = "lie_dynamics_ros"
version = release = re.search("<version>(.*)</version>", (HERE.parent / "package.xml").read_text())[1]
author = copyright = "lie_dynamics_ros maintainers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "api",
    "sources",
]
exclude_patterns = ["_build", "site", "figures", "examples/*.md5", "examples/*.ipynb", "examples/*.py"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# Words of docstrings that name attributes of several classes; links are relative to a folder with spaces.
suppress_warnings = ["ref.python", "sphinx_gallery.space_in_filename"]
html_theme = "furo"
html_title = "lie_dynamics_ros"
html_show_sphinx = False
sphinx_gallery_conf = gallery_settings(HERE.parent)
