/* The metrics that a registry made from a script looks for, in the forms in which trainings print
 * them. Each log was written after the public description or source of the program that it names,
 * and what is right in it was read by a person: a number that is listed must be found or be absent,
 * and no other number may be found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "plan/starter.h"
#include "run/log/joblog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_MOST 0.1 /* of all numbers that are listed */

static const struct format {
    const char *program, *log, *numbers; /* "loss=0.25 val_loss=nan" */
} formats[] = {
    {"plain", "epoch 1 loss: 0.5\nepoch 2 loss: 0.25\n", "loss=0.25"},
    {"plain nan", "loss: 0.3\nloss: nan\nloss: nan\nloss: nan\n", "loss=nan"},
    {"plain inf", "loss: 0.3\nloss: inf\nval_loss: -inf\n", "loss=inf val_loss=-inf"},
    {"NaN in capitals", "Epoch 1, Loss: 0.7\nEpoch 2, Loss: NaN\n", "loss=nan"},
    {"NumPy 2", "loss: np.float64(0.25) acc: np.float32(0.5)\n", "loss=0.25 accuracy=0.5"},
    {"NumPy 2 in a dict", "{'loss': np.float64(0.25), 'val_acc': np.float64(0.75)}\n",
     "loss=0.25 val_accuracy=0.75"},
    {"PyTorch tensor", "loss: tensor(0.43, device='cuda:0')\n", "loss=0.43"},
    {"PyTorch tensor with a gradient", "train loss tensor(0.4300, grad_fn=<NllLossBackward0>)\n",
     "loss=0.43"},
    {"JAX array", "step done, loss=Array(0.125, dtype=float32)\n", "loss=0.125"},
    {"TensorFlow tensor",
     "loss: <tf.Tensor: shape=(), dtype=float32, numpy=0.43>\ntf.Tensor(0.5, shape=(), "
     "dtype=float32)\n",
     "loss=0.43"},
    {"colours", "\033[32mloss\033[0m: \033[1m0.25\033[0m acc=\033[31m0.5\033[0m\n",
     "loss=0.25 accuracy=0.5"},
    {"Keras",
     "Epoch 1/2\n\r 1/32 [>.............................] - ETA: 5s - loss: 2.3000 - accuracy: "
     "0.1000"
     "\r32/32 [==============================] - 1s 5ms/step - loss: 0.7000 - accuracy: 0.7000 - "
     "val_loss: 0.6000 - "
     "val_accuracy: 0.7500\nEpoch 2/2\n\r 1/32 [>.............................] - ETA: 0s - loss: "
     "0.9000 - accuracy: "
     "0.6000\r32/32 [==============================] - 0s 3ms/step - loss: 0.5000 - accuracy: "
     "0.8000 - val_loss: "
     "0.4500 - "
     "val_accuracy: 0.8125\n",
     "loss=0.5 accuracy=0.8 val_loss=0.45 val_accuracy=0.8125"},
    {"Keras 3",
     "Epoch 1/1\n\033[1m 1/32\033[0m \033[37m━━━━━━━━━━━━━━━━━━━━\033[0m \033[1m5s\033[0m "
     "200ms/step - accuracy: "
     "0.1000 - loss: "
     "2.3000\b\b\b\b\b\b\033[1m32/32\033[0m \033[32m━━━━━━━━━━━━━━━━━━━━\033[0m\033[37m\033[0m "
     "\033[1m1s\033[0m "
     "5ms/step - "
     "accuracy: 0.8000 - loss: 0.5000 - val_accuracy: 0.8125 - val_loss: 0.4500\n",
     "loss=0.5 accuracy=0.8 val_loss=0.45 val_accuracy=0.8125"},
    {"Keras ModelCheckpoint",
     "32/32 - 1s - 5ms/step - loss: 0.5000 - val_loss: 0.4500\nEpoch 2: val_loss improved from "
     "0.60000 to 0.45000, "
     "saving "
     "model to best.keras\n",
     "loss=0.5 val_loss=0.45"},
    {"Lightning progress bar",
     "Epoch 0: 100%|██████████| 100/100 [00:01<00:00, 80.1it/s, v_num=0, train_loss_step=0.900, "
     "train_loss_epoch=0.800]\n"
     "Epoch 1: 100%|██████████| 100/100 [00:01<00:00, 80.1it/s, v_num=0, train_loss_step=0.150, "
     "val_loss=0.300, "
     "train_loss_epoch=0.250]\n",
     "loss=0.25 val_loss=0.3"},
    {"Lightning test table",
     "────────────────────────\n       Test metric             DataLoader "
     "0\n────────────────────────\n        "
     "test_acc        "
     "    0.9100000262260437\n        test_loss           "
     "0.3014211058616638\n────────────────────────\n",
     "test_accuracy=0.9100000262260437 test_loss=0.3014211058616638"},
    {"Lightning Rich table",
     "┏━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┓\n┃ Test metric  ┃ DataLoader 0 "
     "┃\n┡━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━┩\n│ "
     "\033[36mtest_acc\033[0m  "
     "   │ 0.91         │\n│ test_loss    │ 0.25         │\n└──────────────┴──────────────┘\n",
     "test_accuracy=0.91 test_loss=0.25"},
    {"HF Trainer",
     "{'loss': 0.9, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 1.0}\n{'eval_loss': 0.8, "
     "'eval_accuracy': 0.7, "
     "'eval_runtime': 1.5, 'eval_samples_per_second': 100.0, 'epoch': 1.0}\n"
     "{'loss': 0.35, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 2.0}\n{'eval_loss': 0.4, "
     "'eval_accuracy': "
     "0.8603, "
     "'eval_f1': 0.88, 'eval_runtime': 1.5, 'epoch': 2.0}\n",
     "loss=0.35 val_loss=0.4 val_accuracy=0.8603 f1=0.88"},
    {"HF example scripts",
     "***** eval metrics *****\n  epoch                   =        3.0\n  eval_accuracy           "
     "=     0.8603\n  "
     "eval_loss  "
     "             =     0.4123\n  eval_runtime            = 0:00:01.50\n  eval_samples           "
     "=        408\n",
     "val_accuracy=0.8603 val_loss=0.4123"},
    {"fastai",
     "epoch     train_loss  valid_loss  accuracy  time    \n0         0.500000    0.400000    "
     "0.910000  00:10     \n1  "
     "       "
     "0.250000    0.300000    0.940000  00:10     \n",
     "loss=0.25 val_loss=0.3 accuracy=0.94"},
    {"fastai diverged",
     "epoch     train_loss  valid_loss  accuracy  time    \n0         0.500000    0.400000    "
     "0.910000  00:10     \n1  "
     "       "
     "nan         nan         0.098000  00:10     \n",
     "loss=nan val_loss=nan accuracy=0.098"},
    {"skorch",
     "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  ----------- "
     " ------------  "
     "------\n      "
     "1        \033[36m0.6905\033[0m       \033[32m0.6150\033[0m        \033[35m0.6733\033[0m  "
     "0.0347\n      2        "
     "0.6500       "
     "0.6400        0.6600  0.0331\n",
     "loss=0.65 val_accuracy=0.64 val_loss=0.66"},
    {"skorch with a column that is empty at times",
     "  epoch    train_loss    valid_acc    valid_loss    cp     dur\n-------  ------------  "
     "-----------  ------------ "
     " ----  "
     "------\n      1        0.6905       0.6150        0.6733     +  0.0347\n      2        "
     "0.6500       0.6400       "
     " 0.6600        "
     "0.0331\n",
     "loss=0.65 val_accuracy=0.64 val_loss=0.66"},
    {"Ultralytics YOLO",
     "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n        1/3   "
     "   2.34G      1.193 "
     "     2.311  "
     "    1.221         20        640: 100%|██████████| 8/8 [00:02<00:00,  3.5it/s]\n              "
     "   Class     Images "
     " "
     "Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 4/4 [00:01<00:00,  "
     "2.5it/s]\n            "
     "       "
     "all        128        929      0.641      0.537      0.605      0.446\n",
     ""},
    {"Detectron2",
     "[09/22 12:00:00 d2.utils.events]:  eta: 0:01:00  iter: 19  total_loss: 2.100  loss_cls: "
     "0.500  loss_box_reg: "
     "0.300  "
     "time: 0.25  data_time: 0.01  lr: 0.00025  max_mem: 2100M\n[09/22 12:00:10 d2.utils.events]:  "
     "eta: 0:00:00  iter: "
     "39  "
     "total_loss: 1.750  loss_cls: 0.400  loss_box_reg: 0.200  time: 0.25  data_time: 0.01  lr: "
     "0.0005  max_mem: "
     "2100M\n",
     "loss=1.75"},
    {"MMEngine",
     "2023/01/01 12:00:00 - mmengine - INFO - Epoch(train)   [1][100/391]  lr: 1.0000e-01  eta: "
     "0:10:00  time: 0.0500  "
     "data_time: 0.0100  memory: 300  loss: 1.9000\n2023/01/01 12:00:20 - mmengine - INFO - "
     "Epoch(val) [1][79/79]    "
     "accuracy/top1: 75.2000  accuracy/top5: 93.1000  data_time: 0.01  time: 0.02\n",
     "loss=1.9 val_accuracy=75.2 accuracy=75.2 top5=93.1"},
    {"PyTorch ImageNet example",
     "Epoch: [0][ 100/5005]\tTime  0.250 ( 0.300)\tData  0.001 ( 0.010)\tLoss 6.9100e+00 "
     "(6.9200e+00)\tAcc@1   0.39 (  "
     "0.20)\tAcc@5   1.17 (  0.90)\nTest: [  0/196]\tTime  4.000 ( 4.000)\tLoss 6.8000e+00 "
     "(6.8000e+00)\tAcc@1   1.00 "
     "(  1.00)\n"
     " *   Acc@1 76.130 Acc@5 93.000\n",
     "accuracy=76.13 top5=93"},
    {"torchvision references",
     "Epoch: [0]  [1250/1251]  eta: 0:00:01  lr: 0.1  img/s: 300.0  loss: 2.3000 (2.4000)  acc1: "
     "10.0000 (9.0000)  "
     "acc5: "
     "30.0000 (29.0000)  time: 0.25  data: 0.01  max mem: 3000\nTest:   [  0/196]  eta: 0:01:00  "
     "loss: 1.9000 (1.9000) "
     " acc1: "
     "50.0000 (50.0000)  acc5: 80.0 (80.0)  time: 0.3\nTest:  Acc@1 69.758 Acc@5 89.078\n",
     "accuracy=69.758 test_accuracy=69.758 top5=89.078"},
    {"timm",
     "Train: 0 [1250/1251 (100%)]  Loss: 6.9100 (6.9300)  Time: 0.250s, 1000.00/s  (0.260s, "
     "980.00/s)  LR: 1.000e-04  "
     "Data: "
     "0.001 (0.010)\nTest: [  48/48]  Time: 0.100 (0.200)  Loss:   6.8000 (6.8500)  Acc@1:   "
     "1.2000 (  1.1000)  Acc@5: "
     "4.0 (3.9)\n"
     "*** Best metric: 1.1 (epoch 0)\n",
     ""},
    {"PyTorch MNIST example",
     "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.305000\nTrain Epoch: 1 [59520/60000 (99%)]\tLoss: "
     "0.012000\n\nTest set: "
     "Average "
     "loss: 0.0319, Accuracy: 9913/10000 (99%)\n\n",
     "loss=0.012 test_loss=0.0319 test_accuracy=0.9913 accuracy=0.9913"},
    {"PyTorch CIFAR10 tutorial",
     "[1,  2000] loss: 2.200\n[2, 12000] loss: 1.270\nFinished Training\nAccuracy of the network "
     "on the 10000 test "
     "images: 54 "
     "%\nAccuracy for class: plane is 58.4 %\nAccuracy for class: car   is 70.1 %\n",
     "loss=1.27 test_accuracy=54"},
    {"PyTorch transfer learning tutorial",
     "Epoch 24/24\n----------\ntrain Loss: 0.0683 Acc: 0.9795\nval Loss: 0.2066 Acc: "
     "0.9477\n\nTraining complete in 1m "
     "7s\nBest val Acc: 0.954248\n",
     "loss=0.0683 accuracy=0.9795 val_loss=0.2066 val_accuracy=0.9477"},
    {"PyTorch quickstart",
     "Epoch 1\n-------------------------------\nloss: 2.303494  [   64/60000]\nloss: 2.194000  "
     "[57664/60000]\nTest "
     "Error: \n "
     "Accuracy: 44.2%, Avg loss: 2.151000 \n\n",
     "loss=2.194 test_accuracy=44.2 test_loss=2.151 accuracy=44.2"},
    {"scikit-learn MLP",
     "Iteration 1, loss = 0.69\nIteration 2, loss = 0.51230000\nTraining loss did not improve more "
     "than "
     "tol=0.000100 for 10 consecutive epochs. Stopping.\n",
     "loss=0.5123"},
    {"scikit-learn classification_report",
     "              precision    recall  f1-score   support\n\n           0       1.00      0.90   "
     "   0.95        10\n "
     "          1  "
     "     0.91      1.00      0.80        10\n\n    accuracy                           0.95       "
     " 20\n   macro avg   "
     "    0.95      "
     "0.95      0.95        20\n",
     "accuracy=0.95"},
    {"XGBoost",
     "[0]\ttrain-logloss:0.480000\teval-logloss:0.500000\n[1]\ttrain-logloss:0.3\teval-logloss:0."
     "4\n",
     "logloss=0.3 val_logloss=0.4"},
    {"LightGBM", "[10]\tvalid_0's binary_logloss: 0.5\n[LightGBM] [Info] Finished training\n",
     "val_logloss=0.5"},
    {"Flax MNIST example",
     "I0512 12:00:00.123456 140000000000000 train.py:160] epoch:  1, train_loss: 0.2100, "
     "train_accuracy: 93.99, "
     "test_loss: "
     "0.0530, test_accuracy: 98.17\n",
     "loss=0.21 accuracy=93.99 test_loss=0.053 test_accuracy=98.17"},
    {"nanoGPT",
     "step 0: train loss 4.2874, val loss 4.2823\niter 0: loss 4.2649, time 2000.00ms, mfu "
     "-100.00%\niter 10: loss "
     "3.2438, time "
     "20.00ms, mfu 5.0%\nstep 250: train loss 1.9600, val loss 2.0600\niter 250: loss 2.0300, time "
     "1500.00ms, mfu "
     "5.0%\n",
     "loss=1.96 val_loss=2.06"},
    {"Hydra", "[2024-01-01 12:00:00,123][__main__][INFO] - Epoch 1: loss=0.5 val/acc=0.75\n",
     "loss=0.5 val_accuracy=0.75"},
    {"logging",
     "INFO:root:epoch 1 train loss 0.5\n2024-01-01 12:00:00,123 - INFO - train.py:52 - valid loss "
     "0.75\n",
     "loss=0.5 val_loss=0.75"},
    {"loguru", "2024-05-01 10:00:00.123 | INFO     | __main__:train:45 - Epoch 1 loss=0.5 f1=0.7\n",
     "loss=0.5 f1=0.7"},
    {"tqdm postfix",
     "Epoch 3:  99%|█████████▉| 99/100 [00:10<00:00, 9.5it/s, loss=0.3]\rEpoch 3: 100%|██████████| "
     "100/100 "
     "[00:10<00:00, 9.5it/s, loss=0.2]\n",
     "loss=0.2"},
    {"tqdm and an epoch line",
     "Epoch 1: 100%|██████████| 100/100 [00:10<00:00, 9.5it/s, loss=0.2]\nEpoch 1 train loss 0.35 "
     "val loss 0.4\nEpoch "
     "2: "
     "100%|██████████| 100/100 [00:10<00:00, 9.5it/s, loss=0.1]\nEpoch 2 train loss 0.25 val loss "
     "0.3\n",
     "loss=0.25 val_loss=0.3"},
    {"tqdm drawn again behind the epoch line",
     "  0%|          | 0/2 [00:00<?, ?it/s, loss=0.9]\rEpoch 1: loss 0.35\n 50%|█████     | 1/2 "
     "[00:10<00:10, "
     "10.0s/it, "
     "loss=0.5]\rEpoch 2: loss 0.25\n100%|██████████| 2/2 [00:20<00:00, 10.0s/it, loss=0.5]\n",
     "loss=0.25"},
    {"diverged after the last epoch line",
     "Epoch 1: loss 0.35\nstep 100: loss 0.3\nstep 200: loss nan\n", "loss=nan"},
    {"a value before the training",
     "loss: 2.303\nstep 1: loss 2.1\nstep 2: loss 1.9\nstep 3: loss 1.5\n", "loss=1.5"},
    {"CSV", "epoch,loss,val_loss,lr\n1,0.5,0.6,0.1\n2,0.25,0.3,0.1\n", "loss=0.25 val_loss=0.3"},
    {"ASCII table",
     "| epoch | train loss | test acc |\n|-------|------------|----------|\n| 1     | 0.5        | "
     "90.1     |\n| "
     "2     | 0.25       | 91.2     |\n",
     "loss=0.25 test_accuracy=91.2"},
    {"JSON lines",
     "{\"epoch\": 1, \"loss\": 0.5, \"val\": {\"loss\": 0.6, \"acc\": 0.7}, \"f1\": 0.4}\n",
     "loss=0.5 val_loss=0.6 val_accuracy=0.7 f1=0.4 accuracy=0.7"},
    {"JSON with train and test",
     "{\"train\": {\"loss\": 0.5, \"acc1\": 70.5}, \"test\": {\"loss\": 0.6, \"acc1\": 68.0}}\n",
     "loss=0.5 accuracy=70.5 test_loss=0.6 test_accuracy=68"},
    {"torchrun ranks",
     "[rank1]: epoch 1 loss 0.6\n[rank0]: epoch 1 loss 0.5\n[rank0]: epoch 2 loss 0.25\n[rank1]: "
     "epoch 2 loss "
     "0.3\n",
     "loss=0.25"},
    {"torchrun --tee", "[default0]:loss: 0.25\n[default1]:loss: 0.3\n", "loss=0.25"},
    {"Open MPI --tag-output", "[1,0]<stdout>:loss: 0.25\n[1,1]<stdout>:loss: 0.3\n", "loss=0.25"},
    {"PyTorch DDP tutorial", "[GPU1] Epoch 0 | loss 0.5\n[GPU0] Epoch 0 | loss 0.25\n",
     "loss=0.25"},
    {"srun --label",
     "0: epoch 1 loss 0.5\n1: epoch 1 loss 0.6\n1: epoch 2 loss 0.3\n0: epoch 2 loss 0.25\n",
     "loss=0.25"},
    {"ranks that agree", "1: loss 0.25\n0: loss 0.25\n", "loss=0.25"},
    {"ranks or epochs", "0: loss 0.5\n1: loss 0.3\n", "loss=absent"},
    {"epochs from 1", "1: loss 0.5\n2: loss 0.3\n3: loss 0.2\n", "loss=0.2"},
    {"decimal commas", "Verlust: 0,5 loss: 0,3514 Genauigkeit: 91,25 acc: 91,25 %\n",
     "loss=0.3514 accuracy=91.25"},
    {"thousands", "loss: 12,345.67 val_loss: 1,234,567.5\n", "loss=12345.67 val_loss=1234567.5"},
    {"thousands of other countries",
     "loss: 12.345,67 val_loss: 12'345.67 test_loss: 12\u202f345,67\n",
     "loss=12345.67 "
     "val_loss=12345.67"},
    {"two readings", "loss: 0.5\nloss: 12,345\nval_loss: 12 345.67\n", "loss=absent"},
    {"units and dates", "loss: 3ms acc: 12:30 val_loss: 2024-01-01 f1: 3/4 test_loss: 0.3x\n",
     "f1=absent"},
    {"a change", "loss: 0.5 -> 0.4\nval_loss: 0.5\u21920.4\n", ""},
    {"best values",
     "Epoch 2 val_acc: 0.90 (best: 0.95)\nBest epoch 1, val_acc 0.95, val_loss 0.1\nbest_acc: "
     "0.95\n",
     "val_accuracy=0.9"},
    {"other losses",
     "G_loss: 0.5 D loss: 0.6 box_loss: 0.7 loss_scale: 1024 KL loss: 3 loss weight 2\n", ""},
    {"train and validation on a line",
     "Epoch 5 | Train: loss 0.5, acc 0.8 | Val: loss 0.6, acc 0.7\n",
     "loss=0.5 accuracy=0.8 val_loss=0.6 val_accuracy=0.7"},
    {"slashes", "train/loss: 0.5 val/loss: 0.6 loss/test: 0.7 test/acc_top1 0.9\n",
     "loss=0.5 val_loss=0.6 test_loss=0.7 "
     "test_accuracy=0.9"},
    {"sentences", "The final test accuracy is 91.2%.\nTest loss was 0.3.\n",
     "test_accuracy=91.2 test_loss=0.3"},
    {"percent in the name", "Accuracy (%): 91.25\nVal Acc [%] = 90\n",
     "accuracy=91.25 val_accuracy=90"},
    {"wandb summary",
     "wandb: Run summary:\nwandb:     val_loss 0.35\nwandb:         loss 0.25\nwandb: Run "
     "history:\nwandb: loss "
     "█▆▃▁\n",
     "loss=0.25 val_loss=0.35"},
    {"ranks as keys",
     "rank=0 epoch=1 loss=0.5\nrank=1 epoch=1 loss=0.7\n{\"rank\": 1, \"loss\": 0.9}\n",
     "loss=0.5"},
    {"a metric of the name rank", "mAP: 0.5 rank1: 0.9 loss: 0.25\nRank-1: 91.2\nacc: 0.5\n",
     "loss=0.25 accuracy=0.5 map=0.5"},
    {"accelerate", "[RANK 1] loss 0.5\n[RANK 0] loss 0.4\n", "loss=0.4"},
    {"Horovod", "[1]<stdout>:loss: 0.7\n[0]<stdout>:loss: 0.5\n", "loss=0.5"},
    {"Catalyst",
     "train (1/3) accuracy: 0.8 | loss: 0.6\nvalid (1/3) accuracy: 0.9 | loss: 0.3\n* Epoch "
     "(1/3)\n",
     "loss=0.6 accuracy=0.8 val_loss=0.3 val_accuracy=0.9"},
    {"Paddle",
     "step 938/938 [====] - loss: 0.0231 - acc: 0.9813 - 20ms/step\nEval begin...\nstep 157/157 "
     "[====] - loss: 0.0012 "
     "- acc: 0.9850 - 10ms/step\nEval samples: 10000\n",
     "loss=0.0231 accuracy=0.9813 val_loss=0.0012 val_accuracy=0.985"},
    {"a comparison of losses",
     "Validation loss: 0.4\nValidation Loss Decreased(0.5--->0.4) \tSaving The Model\nValidation "
     "loss "
     "decreased (0.500000 --> 0.400000).\n",
     "val_loss=0.4"},
    {"Ignite",
     "Training Results - Epoch: 3  Avg accuracy: 0.97 Avg loss: 0.09\nValidation Results - Epoch: "
     "3  Avg accuracy: "
     "0.98 "
     "Avg loss: 0.06\n",
     "loss=0.09 accuracy=0.97 val_loss=0.06 val_accuracy=0.98"},
    {"fairseq",
     "2020-01-01 12:00:00 | INFO | train | epoch 001 | loss 8.5 | nll_loss 7.9 | ppl 240 | wps "
     "10000 | lr "
     "1e-4\n2020-01-01 "
     "12:00:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 7.2 | nll_loss 6.6 | "
     "ppl 90\n",
     "loss=8.5 val_loss=7.2 perplexity=240 val_perplexity=90"},
    {"Megatron-LM",
     " iteration      100/  500000 | consumed samples: 3200 | learning rate: 1.0E-04 | lm loss: "
     "6.512345E+00 | loss "
     "scale: 1.0 | grad norm: 1.2 |\n",
     "loss=6.512345"},
    {"DeepSpeed",
     "[2023-01-01 12:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, lr=[0.001], "
     "loss=2.5\n",
     "loss=2.5"},
    {"Flair",
     "2020-01-01 12:00:00,000 epoch 1 - iter 10/100 - loss 1.2 - time (sec): 1.0\n2020-01-01 "
     "12:00:00,000 EPOCH 1 "
     "done: "
     "loss 1.10 - lr: 0.1\n2020 DEV : loss 0.9 - f1-score (micro avg)  0.77\n",
     "loss=1.1 val_loss=0.9"},
    {"sections",
     "Epoch 2\n  train: loss 0.5\n  val: loss 0.6\n=== Test ===\nloss: 0.7\nacc: 0.8\n\nloss: "
     "0.4\n",
     "loss=0.4 val_loss=0.6 test_loss=0.7 test_accuracy=0.8 accuracy=0.8"},
    {"a table that pages the steps",
     "Step\tTraining Loss\tValidation Loss\n100\t0.5\t0.6\n200\t0.4\t0.5\n",
     "loss=0.4 val_loss=0.5"},
    {"a deviation", "accuracy: 0.91 \u00b1 0.02\nTest accuracy = 91.2 +/- 0.3\n",
     "accuracy=0.91 test_accuracy=91.2"},
    {"emoji and bullets",
     "\U0001F525 Loss: 0.25 \u2193\n\u2022 val_loss: 0.5\u2193 \u2014 acc: 0.75 \u00b7 f1: 0.5\n",
     "loss=0.25 val_loss=0.5 accuracy=0.75 f1=0.5"},
    {"powers of ten",
     "loss: 0.5\nloss: 1.2 x 10^-3\nval_loss: 1.2 \u00d7 10^-3\ntest_loss: 1.5e\u22123\n",
     "test_loss=0.0015"},
    {"pygcn",
     "Epoch: 0200 loss_train: 0.4017 acc_train: 0.9643 loss_val: 0.7074 acc_val: 0.8033 time: "
     "0.0072s\nTest set "
     "results: loss= "
     "0.7256 accuracy= 0.8330\n",
     "loss=0.4017 accuracy=0.9643 val_loss=0.7074 val_accuracy=0.8033 test_loss=0.7256 "
     "test_accuracy=0.833"},
    {"PyTorch Geometric", "Epoch: 200, Loss: 0.5123, Train: 0.9910, Val: 0.7910, Test: 0.8120\n",
     "loss=0.5123"},
    {"TensorFlow estimator",
     "INFO:tensorflow:loss = 0.25, step = 100 (0.512 sec)\nINFO:tensorflow:Loss for final step: "
     "0.0532.\n",
     "loss=0.25"},
    {"dots", "loss........: 0.25\n", "loss=0.25"},
    {"Caffe",
     "I0312 10:00:00.000000  7 solver.cpp:239] Iteration 100, loss = 0.00311204\nI0312 "
     "10:00:00.000000  7 "
     "solver.cpp:258]     Train net output #0: loss = 0.0051291 (* 1 = 0.0051291 loss)\n",
     "loss=0.00311204"},
    {"Caffe with a test",
     "I0312 10:00:00.000000  7 solver.cpp:347] Iteration 500, Testing net (#0)\nI0312 "
     "10:00:01.000000  7 "
     "solver.cpp:414]     Test net output #0: accuracy = 0.9711\nI0312 10:00:01.000000  7 "
     "solver.cpp:414]     Test "
     "net output #1: loss = 0.0911 (* 1 = 0.0911 loss)\nI0312 10:00:01.000000  7 solver.cpp:239] "
     "Iteration 500 "
     "(51.2 iter/s, 1.9s/100 iters), loss = 0.125\nI0312 10:00:01.000000  7 solver.cpp:258]     "
     "Train net output "
     "#0: loss = 0.25 (* 1 = 0.25 loss)\n",
     "loss=0.125 test_accuracy=0.9711 test_loss=0.0911 accuracy=0.9711"},
    {"HF Trainer of Whisper",
     "{'eval_loss': 0.5, 'eval_wer': 31.25, 'eval_cer': 12.5, 'epoch': 2.0}\n",
     "val_loss=0.5 wer=31.25 cer=12.5"},
    {"HF summarization",
     "***** eval metrics *****\n  eval_rouge1 = 41.5\n  eval_rouge2 = 18.25\n  eval_rougeL = "
     "38.75\n  "
     "eval_rougeLsum = 39.5\n  perplexity = 12.5\n",
     "rouge1=41.5 rouge2=18.25 rougel=38.75 val_perplexity=12.5 perplexity=12.5"},
    {"sacreBLEU",
     "BLEU = 28.5 60.1/35.2/22.0/14.7 (BP = 0.98 ratio = 0.98 hyp_len = 100 ref_len = 102)\n",
     "bleu=28.5"},
    {"HF datasets",
     "Map:  50%|\u2588\u2588\u2588\u2588\u2588     | 500/1000 [00:01<00:01, 400.00 examples/s]\n"
     "Map: 1000 examples [00:02, 400.00 examples/s]\n",
     ""},
    {"a setting of the name precision",
     "precision: 16\nPrecision = 32\n{'precision': 16, 'recall': 0.5}\n", "recall=0.5"},
    {"precision and recall", "Precision: 0.75 Recall: 0.5\nval_precision: 62.5% val_recall: 25%\n",
     "precision=0.75 recall=0.5 val_precision=62.5 val_recall=25"},
    {"COCO",
     " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.374\n Average "
     "Precision  (AP) @[ "
     "IoU=0.50      | area=   all | maxDets=100 ] = 0.581\n",
     ""},
    {"MMDetection",
     "Epoch(val) [12][32]\tbbox_mAP: 0.3740, bbox_mAP_50: 0.5810, bbox_mAP_75: 0.4040\n",
     "map=0.374 map_50=0.581"},
    {"regression", "Root Mean Squared Error: 0.75\nMean Squared Error: 0.5625\nMAE: 0.5 R2: 0.25\n",
     "rmse=0.75 mse=0.5625 mae=0.5 r2=0.25"},
    {"Keras regression",
     "10/10 - 0s - loss: 0.5 - mae: 0.25 - root_mean_squared_error: 0.75 - val_loss: 0.6 - "
     "val_mae: 0.3 - "
     "val_root_mean_squared_error: 0.8\n",
     "loss=0.5 mae=0.25 rmse=0.75 val_loss=0.6 val_mae=0.3 val_rmse=0.8"},
    {"LightGBM with its training", "[10]\ttraining's auc: 0.95\tvalid_0's auc: 0.875\n",
     "auc=0.95 val_auc=0.875"},
    {"segmentation", "Validation Dice: 0.85 Mean IoU: 0.75 dice_loss: 0.15\n",
     "dice=0.85 miou=0.75"},
    {"restoration", "PSNR: 31.25 dB, SSIM: 0.875\nFID: 34.12\n", "psnr=31.25 ssim=0.875 fid=34.12"},
    {"Stable-Baselines3",
     "| rollout/           |          |\n|    ep_len_mean     | 21.5     |\n|    ep_rew_mean     | "
     "42.5     |\n",
     "reward=42.5"},
    {"RLlib", "  episode_len_mean: 22.5\n  episode_reward_max: 71.0\n  episode_reward_mean: 42.5\n",
     "reward=42.5"},
    {"CleanRL", "global_step=812, episodic_return=[14.]\nglobal_step=900, episodic_return=[31.5]\n",
     "episodic_return=31.5"},
    {"a program's return", "return 0\nreturn code: 1\nreturn: 2\n", ""},
    {"words joined by capitals", "Epoch\tTrainLoss\tValLoss\tValAcc\n1\t0.5\t0.75\t0.25\n",
     "loss=0.5 val_loss=0.75 val_accuracy=0.25"},
    {"UTF-16", "l o s s :   0 . 5\n", ""},
};

/* Of several processes that do not say which they are. */
static const struct format unmarked[] = {
    {"different numbers", "Epoch 1 loss 0.5 time 3.1\nEpoch 1 loss 0.6 time 3.2\n", "loss=absent"},
    {"the same number", "Epoch 1 loss 0.5 time 3.1\nEpoch 1 loss 0.5 time 3.2\n", "loss=0.5"},
    {"different at first",
     "Epoch 1 loss 0.5\nEpoch 1 loss 0.6\nEpoch 2 loss 0.25\nEpoch 2 loss 0.25\n", "loss=0.25"},
    {"three", "Epoch 1 loss 0.5\nEpoch 1 loss 0.6\nEpoch 1 loss 0.6\n", "loss=absent"},
    {"without an epoch", "Test accuracy: 0.9\nTest accuracy: 0.8\n", "test_accuracy=absent"},
    {"the first rank alone", "Epoch 1 loss 0.5\nEpoch 2 loss 0.25\nsaved\nTest accuracy: 0.9\n",
     "loss=0.25 test_accuracy=0.9"},
    {"batches of one epoch", "Epoch 1 [1/2] loss 0.5\nEpoch 1 [2/2] loss 0.25\n", "loss=0.25"},
};

static const char *const names[] = {"loss",
                                    "val_loss",
                                    "test_loss",
                                    "accuracy",
                                    "val_accuracy",
                                    "test_accuracy",
                                    "perplexity",
                                    "val_perplexity",
                                    "test_perplexity",
                                    "auc",
                                    "val_auc",
                                    "test_auc",
                                    "logloss",
                                    "val_logloss",
                                    "test_logloss",
                                    "mse",
                                    "val_mse",
                                    "test_mse",
                                    "rmse",
                                    "val_rmse",
                                    "test_rmse",
                                    "mae",
                                    "val_mae",
                                    "test_mae",
                                    "precision",
                                    "val_precision",
                                    "test_precision",
                                    "recall",
                                    "val_recall",
                                    "test_recall",
                                    "f1",
                                    "top5",
                                    "r2",
                                    "mcc",
                                    "spearman",
                                    "pearson",
                                    "map",
                                    "map_50",
                                    "map_50_95",
                                    "ap",
                                    "miou",
                                    "dice",
                                    "psnr",
                                    "ssim",
                                    "fid",
                                    "wer",
                                    "cer",
                                    "bleu",
                                    "rouge1",
                                    "rouge2",
                                    "rougel",
                                    "reward",
                                    "episodic_return"};

enum { METRICS = sizeof names / sizeof *names };

static double wanted(const char *numbers, const char *name, bool *is_listed)
{
    size_t length = strlen(name);
    *is_listed = false;
    for (const char *at = numbers; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, name, length) != 0 || at[length] != '=' ||
            strncmp(at + length + 1, "absent", 6) == 0)
            continue;
        *is_listed = true;
        return strtod(at + length + 1, NULL);
    }
    return 0;
}

/* As starter_registry writes them. */
static void load_patterns(json_t *registry, struct joblog_pattern patterns[METRICS])
{
    const json_t *repo = json_object_get(json_object_get(registry, "models"), "train");
    const json_t *all =
        json_object_get(json_object_get(repo, "performance_metrics"), "log_patterns");
    assert_int_equal(json_object_size(all), METRICS);
    for (size_t i = 0; i < METRICS; i++) {
        const char *source =
            json_string_value(json_object_get(json_object_get(all, names[i]), "pattern"));
        assert_non_null(source);
        patterns[i] = (struct joblog_pattern){JOBLOG_METRIC, names[i], source};
    }
}

/* Counts the numbers of all formats, those that are wrong and those that are missing. */
static void count_numbers(const struct format *all_formats, size_t count, bool has_ranks,
                          size_t *wrong, size_t *missing)
{
    json_t *registry =
        starter_registry(&(struct starter){.name = "train.py", .program = "train.py", .path = "."});
    struct joblog_pattern patterns[METRICS];
    size_t all = 0;
    load_patterns(registry, patterns);
    *wrong = *missing = 0;
    for (size_t f = 0; f < count; f++) {
        const struct format *format = &all_formats[f];
        const struct joblog_options options = {.log_fd = -1,
                                               .times_fd = -1,
                                               .patterns = patterns,
                                               .pattern_count = METRICS,
                                               .has_ranks = has_ranks};
        struct joblog *log = joblog_new(&options, NULL);
        assert_non_null(log);
        assert_true(joblog_add_bytes(log, format->log, strlen(format->log), 1, NULL));
        assert_true(joblog_end(log, 2, NULL));
        for (size_t i = 0; i < METRICS; i++) {
            const struct joblog_result *result = joblog_result(log, i);
            bool is_listed;
            double number = wanted(format->numbers, names[i], &is_listed);
            bool is_right = is_listed && result->has_number &&
                            (number == result->number || (isnan(number) && isnan(result->number)));
            all += is_listed;
            *missing += is_listed && !result->has_number;
            *wrong += result->has_number && !is_right;
            if (result->has_number ? !is_right : is_listed)
                print_message("# %s: %s is %s %g, not %g\n", format->program, names[i],
                              result->has_number ? "" : "missing", result->number, number);
        }
        joblog_free(log);
    }
    json_decref(registry);
    print_message("# %zu formats, %zu numbers: wrong %zu, missing %zu\n", count, all, *wrong,
                  *missing);
    assert_true((double)*missing <= MISSING_MOST * (double)all);
}

static void no_number_is_wrong_and_few_are_missing(void **state)
{
    (void)state;
    size_t wrong, missing;
    count_numbers(formats, sizeof formats / sizeof *formats, false, &wrong, &missing);
    assert_int_equal(wrong, 0);
}

static void a_number_that_ranks_do_not_agree_on_is_absent(void **state)
{
    (void)state;
    size_t wrong, missing;
    count_numbers(unmarked, sizeof unmarked / sizeof *unmarked, true, &wrong, &missing);
    assert_int_equal(wrong, 0);
    assert_int_equal(missing, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_number_is_wrong_and_few_are_missing),
        cmocka_unit_test(a_number_that_ranks_do_not_agree_on_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
