"""JupyterHub for a class: lessons, kernels and progress of their own for everyone.

docs/classroom.md says how it is tried out, installed and sized. `jupyterhub -f` takes this file.
"""

import itertools
import os
import resource
import sys
from pathlib import Path

from jupyterhub.spawner import LocalProcessSpawner

c = get_config()

# What a learner's server and each of their kernels may take: bytes of memory, of which no lesson
# needs a fifth; and processors, which all that a learner runs shares. The next gets the next ones.
MEMORY, PROCESSORS = 4 * 2**30, 1
server_number = itertools.count()


class LimitedSpawner(LocalProcessSpawner):
    """Starts a learner's server within these limits, which all that it starts then has."""

    def make_preexec_fn(self, name):
        """Return what the new process does before it becomes the learner's."""
        become_the_learners = super().make_preexec_fn(name)
        processors = sorted(os.sched_getaffinity(0))
        first = next(server_number) * PROCESSORS % len(processors)
        own = (2 * processors)[first : first + min(PROCESSORS, len(processors))]

        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            os.sched_setaffinity(0, own)
            become_the_learners()

        return limit


if sys.platform == "linux":
    c.JupyterHub.spawner_class = LimitedSpawner

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
