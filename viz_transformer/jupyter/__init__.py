"""What `viz-transformer lab` gives to JupyterLab and its kernels."""
