"""JupyterHub for a class: lessons, kernels and progress of their own for everyone.

docs/classroom.md says how it is tried out, installed and sized. `jupyterhub -f` takes this file.
"""

import os
import sys
from pathlib import Path

c = get_config()

# Programs installed beside this Python are found by name: the proxy, and in lessons nbgrader.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# A learner's server copies the lessons into `lessons` in the learner's home, leaves those that are
# already there alone, and opens the first.
c.Spawner.cmd = [sys.executable, "-m", "viz_transformer", "lab"]

# When a whole class comes in at once, a server may take longer than JupyterHub's 60 seconds.
c.Spawner.start_timeout = c.Spawner.http_timeout = 300

# Memory comes back: a kernel whose window is closed ends after an hour without work, and a server
# without kernels after another. Files stay.
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=3600",
    "--ServerApp.shutdown_no_activity_timeout=3600",
]

# JupyterHub lets nobody in by default. Everyone with an account on this machine may come.
c.Authenticator.allow_all = True

# Only this machine reaches it; a web server that has a certificate stands in front of it.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
