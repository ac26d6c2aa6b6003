"""What discreet installs, and under which licences, as an SPDX 2.3 document: from the metadata of what is installed.

`python -m releasing.spdx` prints it for discreet with all its extras.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

UNKNOWN: Final = "NOASSERTION"
CLASSIFIED: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""Classifiers of licences, as SPDX calls them. BSD's names no number of clauses; packages that mean two say so."""
WRITTEN: Final = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "isc": "ISC",
    "lgpl-3.0-only": "LGPL-3.0-only",
    "mit": "MIT",
    "mit license": "MIT",
    "mpl-2.0": "MPL-2.0",
}
"""What people write in the older field, in lower case."""


class NotInstalledError(Exception):
    """Something that is needed is not in this environment."""


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution that is installed."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]
    """Names of what it needs, here and on this Python."""

    @property
    def reference(self) -> str:
        return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", self.name)


def installed(root: str, extras: Iterable[str] = ()) -> list[Package]:
    """The distribution with these extras, and all that it needs, in the order of their names."""
    wanted: list[tuple[str, frozenset[str]]] = [(canonicalize_name(root), frozenset(extras))]
    packages: dict[str, Package] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        name, chosen = wanted.pop()
        if (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        try:
            told = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise NotInstalledError(f"{name} is not installed: pip install 'discreet[all]'") from None
        needs = [Requirement(text) for text in told.requires or ()]
        needs = [need for need in needs if _applies(need, chosen)]
        before = packages[name].needs if name in packages else ()
        names = {str(canonicalize_name(need.name)) for need in needs} - {name}
        packages[name] = Package(name, told.version, licence(told.metadata), tuple(sorted({*before, *names})))
        wanted += [(canonicalize_name(need.name), frozenset(need.extras)) for need in needs]
    return [packages[name] for name in sorted(packages)]


def _applies(need: Requirement, extras: frozenset[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def licence(told: Any) -> str:
    """The expression that the package declares, or what its classifier or older field means; never a guess."""
    expression = told.get("License-Expression")
    if expression:
        return str(expression)
    classified = {
        CLASSIFIED[name]
        for line in told.get_all("Classifier") or ()
        if line.startswith("License ::") and (name := line.rpartition(" :: ")[2]) in CLASSIFIED
    }
    if classified:
        return " OR ".join(sorted(classified))
    return WRITTEN.get(str(told.get("License") or "").strip().lower(), UNKNOWN)


def document(packages: list[Package], *, root: str, created: int) -> dict[str, Any]:
    """The document, the same for the same packages and time."""
    listed = [_described(package) for package in packages]
    relations = list(_relations({package.name: package for package in packages}, root))
    identity = uuid5(NAMESPACE_URL, json.dumps([listed, relations, created], sort_keys=True))
    moment = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = next(package.version for package in packages if package.name == root)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{root}-{version}",
        "documentNamespace": f"urn:uuid:{identity}",
        "creationInfo": {"created": moment, "creators": ["Tool: discreet-releasing"]},
        "packages": listed,
        "relationships": relations,
    }


def _described(package: Package) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    return {
        "SPDXID": package.reference,
        "name": package.name,
        "versionInfo": package.version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": package.licence,
        "copyrightText": UNKNOWN,
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }


def _relations(packages: Mapping[str, Package], root: str) -> Iterator[dict[str, str]]:
    yield _relation("SPDXRef-DOCUMENT", "DESCRIBES", packages[root].reference)
    for package in packages.values():
        for need in package.needs:
            yield _relation(package.reference, "DEPENDS_ON", packages[need].reference)


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


if __name__ == "__main__":
    found = installed("discreet", ["all"])
    print(json.dumps(document(found, root="discreet", created=0), indent=1))
