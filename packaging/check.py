"""Check the recipes for EasyBuild by EasyBuild, and CITATION.cff by the schema of its format.

A recipe is parsed, has EasyBuild's style, and finds every dependency among EasyBuild's own recipes.
`make check-packaging` runs this, with the packages of `requirements.txt`. `python/tests/test_packaging.py` compares the
recipes with the project.
"""

import subprocess
import sys
from pathlib import Path

from easybuild.framework.easyconfig.easyconfig import process_easyconfig, robot_find_easyconfig
from easybuild.framework.easyconfig.style import check_easyconfigs_style
from easybuild.tools.module_naming_scheme.utilities import det_full_ec_version
from easybuild.tools.options import set_up_configuration

HERE = Path(__file__).resolve().parent

# With --fetch, EasyBuild needs no modules. This program fetches and builds nothing, so root does no harm.
OPTIONS = ["--robot", "--fetch", "--allow-use-as-root-and-accept-consequences"]


def main() -> int:
    subprocess.run(["cffconvert", "--validate", "--infile", HERE.parent / "CITATION.cff"], check=True)
    recipes = sorted(map(str, HERE.glob("easybuild/*.eb")))
    set_up_configuration(args=[*OPTIONS, *recipes], silent=True)
    if check_easyconfigs_style(recipes):
        return 1
    for recipe in recipes:
        (entry,) = process_easyconfig(recipe)
        dependencies = [(one["name"], det_full_ec_version(one)) for one in entry["dependencies"]]
        missing = [f"{name} {version}" for name, version in dependencies if not robot_find_easyconfig(name, version)]
        if missing:
            print(f"{recipe}: no recipe for {', '.join(missing)}, expected recipes of EasyBuild")
            return 1
        print(f"{recipe}: ok, {len(dependencies)} dependencies")
    return 0


if __name__ == "__main__":
    sys.exit(main())
