"""LightGBM: early stopping prints the best iteration's values."""
LOG = """
[LightGBM] [Info] Number of positive: 4521, number of negative: 5479
[LightGBM] [Info] Total Bins 2550
Training until validation scores don't improve for 10 rounds
[10]\tvalid_0's auc: 0.871204\tvalid_0's binary_logloss: 0.461203
[20]\tvalid_0's auc: 0.881311\tvalid_0's binary_logloss: 0.431207
[30]\tvalid_0's auc: 0.880412\tvalid_0's binary_logloss: 0.433980
Early stopping, best iteration is:
[21]\tvalid_0's auc: 0.881502\tvalid_0's binary_logloss: 0.431008
"""
want("auc val_auc valid_0_auc val_0_s_auc", [0.881502, 0.880412], headline=True)
want("binary_logloss val_loss val_logloss logloss val_0_s_binary_logloss", [0.431008, 0.433980],
     headline=True)
wrong(0.881311, "round 20")
wrong(0, "the 0 of valid_0")
