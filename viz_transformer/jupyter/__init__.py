"""Settings and start-up code of `viz-transformer lab` for JupyterLab and its kernels."""
