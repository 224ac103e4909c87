#!/bin/sh
# Builds the documentation site: make docs. What that takes is installed into the environment at the first time.
set -eu
cd -- "$(dirname -- "$0")/.."
python -c 'import sphinx, myst_parser, sphinx_gallery, furo, mathjax' 2>/dev/null ||
    python -m pip --disable-pip-version-check install -q --no-build-isolation --config-settings editable_mode=compat -e '.[docs]' 'django-static-mathjax==3.2.2.1'
# shellcheck disable=SC2086
python -m sphinx -W --keep-going -q -E -j auto -b html ${DOCS_ARGS:-} doc doc/_build/html
echo "the site is doc/_build/html/index.html"
