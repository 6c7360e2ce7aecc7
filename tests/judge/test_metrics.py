import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "folders"),
    [
        ("inspect_core.judge.metrics", {"judge"}),
        ("inspect_core.judge.limits", {"judge"}),
        ("inspect_core.verdict", {"images", "judge", "runtime", "verdict"}),
    ],
)
def test_judging_needs_no_torch_no_streamlit_and_no_other_folder(module, folders):
    program = (
        f"import sys, {module}\n"
        "loaded = {name.split('.')[1] for name in sys.modules if name.startswith('inspect_core.')}\n"
        f"assert loaded == {folders}, loaded\n"
        "assert not {'torch', 'streamlit', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
