"""The documentation site, from the pages of this folder: ``make docs``.

Sphinx with MyST for the pages, sphinx-gallery for examples/, and small extensions in the folder site/: the API,
parameters, equations, and links to files that are not pages.
"""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
# rosdoc2 builds a copy of this folder, with a conf.py that reads this one from where it is.
read = re.search(r'exec\(open\("(.+)/doc/conf\.py"\)', Path(__file__).read_text())
ROOT = Path(read[1]) if read else HERE.parent
sys.path[:0] = [str(HERE / "site"), str(ROOT)]
os.environ["MPLBACKEND"] = "Agg"

from gallery import gallery_settings  # noqa: E402

project = "lie_dynamics_ros"
version = release = re.search("<version>(.*)</version>", (ROOT / "package.xml").read_text())[1]
author = copyright = "lie_dynamics_ros maintainers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "api",
    "equations",
    "parameters",
    "sources",
]
exclude_patterns = ["_build", "site", "figures", "examples/**/*.md5", "examples/**/*.ipynb", "examples/**/*.py"]
exclude_patterns += ["index.rst", "user_docs", "modules.rst", "lie_dynamics_ros*.rst", "__*"]  # of rosdoc2
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
if mathjax := find_spec("mathjax"):  # of tools/docs.sh: formulas need no network; rosdoc2 has the script from one
    html_static_path = [str(Path(mathjax.origin).parent / "static/mathjax/es5/tex-svg.js")]
    mathjax_path = "tex-svg.js"
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
sphinx_gallery_conf = gallery_settings(ROOT)
rosdoc2_settings = dict.fromkeys(
    (
        *("enable_autodoc", "enable_intersphinx", "automatically_extend_intersphinx_mapping"),
        *("override_theme", "support_markdown"),
    ),
    False,  # as set above
)
