# %% torch_modules.1
columns = [64 + 2 * 16, 64 + 3 * 16]

# %% torch_modules.2
layers = [torch.nn.Linear(8, 8) for _ in range(6)]
