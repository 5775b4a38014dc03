/*
 * check.h
 *		Are the pages right?  Those of many workers against the host's, and both against PostgreSQL's own.
 */
#ifndef CHECK_H
#define CHECK_H

#include "leaf_pages/leaf_page.h"

/*
 * Fills pages of indexes of several sizes in each way, the card's too if there is one, and compares them.
 * Prints a line a kind of index; returns how many differed.
 */
int check_pages(bool with_card);

/*
 * Reads the leaves of an index that PostgreSQL wrote, of one or two int8 columns without NULLs or posting
 * lists, fillfactor 90; fills pages with its tuples, and compares them.  Says on stdout what was compared,
 * and on stderr what differs; false then.
 */
bool check_file(const char *path, int columns);

#endif /* CHECK_H */
