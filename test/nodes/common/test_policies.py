"""Policies of SROS 2: of the schema's form, and what is in the repository is what the list of interfaces gives."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from lie_dynamics_ros.nodes.interfaces import COMMON, INTERFACES, OTHERS, main, policies

FOLDER = Path(__file__).resolve().parents[3] / "config" / "policies"
RIGHTS = {"topics": {"publish", "subscribe"}, "services": {"reply", "request"}, "actions": {"execute", "call"}}


def test_the_files_are_those_that_are_generated(tmp_path):
    assert main([str(tmp_path)]) == 0
    fresh = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert fresh == policies()
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == fresh  # make policies


@pytest.mark.parametrize("node", [*INTERFACES, *OTHERS])
def test_a_policy_has_the_form_of_the_schema_and_allows_what_the_list_names(node):
    root = ET.fromstring(policies()[f"{node}.policy.xml"])
    assert (root.tag, root.attrib) == ("policy", {"version": "0.2.0"})
    (enclave,) = root.findall("enclaves/enclave")
    assert enclave.get("path") == f"/lie_dynamics/{node}"
    (profile,) = enclave.findall("profiles/profile")
    assert profile.attrib == {"ns": "/", "node": node}
    found = {}
    for group in profile:
        ((right, rule),) = group.attrib.items()
        assert right in RIGHTS[group.tag] and rule == "ALLOW"
        names = [item.text for item in group]
        assert {item.tag for item in group} == {group.tag[:-1]} and len(set(names)) == len(names)
        found[right] = set(names)
    wanted = {**INTERFACES, **OTHERS}[node]
    assert found == {
        "publish": {*COMMON.publishes, *wanted.publishes},
        "subscribe": {*COMMON.subscribes, *wanted.subscribes},
        "reply": {*COMMON.serves, *wanted.serves},
        **({"execute": set(wanted.acts)} if wanted.acts else {}),
        **({"request": set(wanted.requests)} if wanted.requests else {}),
        **({"call": set(wanted.calls)} if wanted.calls else {}),
    }
