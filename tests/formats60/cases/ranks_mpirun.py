"""mpirun --tag-output: the tag has two numbers; rank 0 alone prints the accuracy."""
LOG = """
[1,0]<stdout>:Epoch 1: loss = 1.0120
[1,1]<stdout>:Epoch 1: loss = 1.0377
[1,0]<stdout>:Epoch 1: test accuracy = 0.6620
[1,1]<stdout>:Epoch 2: loss = 0.7413
[1,0]<stdout>:Epoch 2: loss = 0.7120
[1,0]<stdout>:Epoch 2: test accuracy = 0.7514
[1,1]<stdout>:Epoch 3: loss = 0.5991
[1,0]<stdout>:Epoch 3: loss = 0.5809
[1,0]<stdout>:Epoch 3: test accuracy = 0.8007
[1,1]<stdout>:Epoch 3: loss = 0.5991
"""
want("loss train_loss", 0.5809)
want("test_accuracy accuracy", 0.8007)
wrong(0.5991, "rank 1's")
