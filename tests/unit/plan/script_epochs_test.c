#include "plan/script_epochs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "sources.h"

/* The printer, and whether its lines begin or end an epoch. */
static void what_prints_epochs_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *train, *helper, *printer;
        bool at_start;
    } cases[] = {
        {"import keras\nmodel.fit(x)\n", "", "Keras", true},
        {"from tensorflow import keras\nimport helper\n", "def go(m): m.fit(1)\n", "Keras", true},
        {"import keras\n", "", NULL, false},
        {"from sklearn.svm import SVC\nSVC().fit(x)\n", "", NULL, false},
        {"import pytorch_lightning as pl\npl.Trainer().fit(m)\n", "", "Lightning", true},
        {"from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n", "", "Lightning", true},
        {"from transformers import Trainer\nTrainer(model=m).train()\n", "", "the HF Trainer",
         false},
        {"from trl import SFTTrainer\nSFTTrainer(m).train()\n", "", "the HF Trainer", false},
        {"from transformers import AutoModel\nprint(f'Epoch {e}/{n}')\n", "", "the script", true},
        {"print(f'Epoch {e + 1}/{n}')\nprint(f'loss {x}')\n", "", "the script", true},
        {"print('Epoch %d loss %.3f' % (e, x))\n", "", "the script", false},
        {"print('Epoch: {:03d}, Loss: {:.4f}'.format(e, x))\n", "", "the script", false},
        {"print('epoch', e, 'loss', x)\n", "", "the script", false},
        {"log.info(f'Epoch {e}: '\n         f'loss {x}')\n", "", "the script", false},
        {"m = ProgressMeter(n, prefix='Epoch: [{}]'.format(e))\n", "", "the script", true},
        {"print('Train Epoch: {} [{}/{}]\\tLoss: {:.6f}'.format(e, i, n, x))\n", "", "the script",
         true},
        {"for b in tqdm(l, desc=f'Epoch {e}'): pass\n", "", "the script", true},
        {"print(f'Epoch {e} step {i} loss {x}')\n", "", "the script", true},
        {"import helper\n", "print(f'epoch {e} loss {x}')\n", "the script", false},
        {"# print(f'Epoch {e}')\n", "", NULL, false},
        {"'''Epoch {e}'''\n", "", NULL, false},
        {"print(f'Best epoch {e}')\n", "", NULL, false},
        {"p.add_argument('--epochs', help='epochs')\n", "", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct source sources[] = {
            {"/r/train.py", cases[i].train}, {"/r/helper.py", cases[i].helper}, {0}};
        AUTO(script_files_fini) struct script_files files;
        struct script_epochs epochs;
        assert_true(walk(sources, "train.py", &files));
        script_epochs_find(&files, &epochs);
        if (!cases[i].printer) {
            assert_true(!epochs.printer && !epochs.start && !epochs.end);
            continue;
        }
        assert_string_equal(epochs.printer ? epochs.printer : cases[i].train, cases[i].printer);
        assert_int_equal(epochs.start != NULL, cases[i].at_start);
        assert_int_equal(epochs.end != NULL, !cases[i].at_start);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_prints_epochs_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
