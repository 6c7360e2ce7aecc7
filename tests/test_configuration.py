"""What Streamlit makes of the configuration: no question first, nothing sent, one address."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROMISED = {
    "server.showEmailPrompt": False,
    "logger.hideWelcomeMessage": True,
    "server.address": "127.0.0.1",
    "server.allowedHosts": ["localhost", "127.0.0.1"],
    "browser.gatherUsageStats": False,
}


def test_streamlit_settings_exist_and_keep_their_promise():
    code = f"import json; from streamlit.config import get_option; print(json.dumps([*map(get_option, {[*PROMISED]})]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == list(PROMISED.values())
    assert done.stderr == "", "Streamlit passes over what it does not know, with a warning"
