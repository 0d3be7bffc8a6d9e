n_layer = 3
block_size = 64
