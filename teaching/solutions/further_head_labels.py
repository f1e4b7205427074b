# %% head_labels.1
deciding_head = 1
