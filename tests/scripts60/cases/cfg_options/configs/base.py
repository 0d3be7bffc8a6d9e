optimizer = dict(type="SGD", lr=0.02)
