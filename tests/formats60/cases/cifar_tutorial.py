"""PyTorch's CIFAR-10 tutorial: '[2, 12000] loss', an accuracy in a sentence, then per class."""
LOG = """
Files already downloaded and verified
[1,  2000] loss: 2.187
[1, 12000] loss: 1.464
[2,  2000] loss: 1.390
[2, 12000] loss: 1.269
Finished Training
GroundTruth:  cat   ship  ship  plane
Accuracy of the network on the 10000 test images: 56 %
Accuracy for class: plane is 61.2 %
Accuracy for class: car   is 74.9 %
Accuracy for class: truck is 66.4 %
"""
want("test_accuracy accuracy", 56, percent=True)
want("loss train_loss", 1.269)
wrong(66.4, "the last class only")
wrong(61.2, "the first class only")
wrong(10000, "number of images")
wrong(1.39, "stale")
