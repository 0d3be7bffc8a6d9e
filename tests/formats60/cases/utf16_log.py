"""A log in UTF-16 with a byte order mark, as PowerShell's redirection writes it."""
LOG = ("\ufeff" + "Epoch 1/2\r\nloss: 0.8123 - val_loss: 0.7710 - val_accuracy: 0.6941\r\n"
       "Epoch 2/2\r\nloss: 0.5512 - val_loss: 0.6127 - val_accuracy: 0.7514\r\n").encode("utf-16-le")
REPORTED = r"\butf-?16\b|\bnot (?:valid )?utf-?8\b"
want("loss train_loss", 0.5512)
want("val_loss", 0.6127)
want("val_accuracy accuracy", 0.7514)
wrong(0.771, "epoch 1")
