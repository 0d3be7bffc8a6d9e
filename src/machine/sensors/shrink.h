/* shrink: gives back what a process needed to begin and hardly ever again: freed heap, and the
 * pages of files (code, constants) that it read. The driver's library needs much of both at its
 * start. */
#ifndef TARE_MACHINE_SENSORS_SHRINK_H
#define TARE_MACHINE_SENSORS_SHRINK_H

/* Before anything is loaded: freed memory goes back by itself where it can, and no huge pages are
 * made of little. */
void shrink_prepare(void);

/* Pages of files come back from the file when they are touched again; only unchanged ones are given
 * away. */
void shrink_now(void);

#endif
