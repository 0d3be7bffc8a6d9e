/* The address as a QR code, for a telephone's camera. As "qrencode -t UTF8" draws it: light modules are blocks, so that it is dark on
 * light on the usual dark terminal; cameras read the other way round as well. */
#include "serve/serve.h"

#include <qrencode.h>
#include <string.h>

enum { QUIET = 2, MOST_BYTES = 512 };

static bool is_light(const QRcode *code, int x, int y)
{
    bool inside = x >= 0 && y >= 0 && x < code->width && y < code->width;
    return !inside || !(code->data[y * code->width + x] & 1);
}

void serve_qr(const char *text, struct text *out)
{
    static const char *const blocks[] = {" ", "▄", "▀", "█"};
    QRcode *code = strlen(text) <= MOST_BYTES ? QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L) : NULL;
    if (!code)
        return;
    for (int y = -QUIET; y < code->width + QUIET; y += 2) {
        for (int x = -QUIET; x < code->width + QUIET; x++)
            text_add(out, blocks[2 * is_light(code, x, y) + is_light(code, x, y + 1)]);
        text_add(out, "\n");
    }
    QRcode_free(code);
}
