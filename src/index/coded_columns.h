/*
 * index/coded_columns.h
 *		The columns of an index whose values get codes while it is built (key/coded.h).
 */
#ifndef GPUSORT_INDEX_CODED_COLUMNS_H
#define GPUSORT_INDEX_CODED_COLUMNS_H

#include "postgres.h"

#include "access/attnum.h"

#include "key/types.h"

typedef struct CodedColumns
{
	uint32 columns; /* of the index's key, as bits */
	double values;	/* expected number of different values of one of them */
	double times; /* codes do not pay if values come less often on average; 0: statistics say that they pay */
	int key_bytes; /* bytes of a key with codes */
	bool alone;	   /* do these keys tell the index tuples? */
} CodedColumns;

/* An index, which may not be made yet. */
typedef struct CodedIndex
{
	Oid heap;
	Oid index;							/* InvalidOid: there is none yet */
	AttrNumber columns[INDEX_MAX_KEYS]; /* of the key: columns of the table; 0: an expression */
	int ncolumns;						/* of the key, and others */
	bool is_unique;
} CodedIndex;

/*
 * Returns the columns that get codes in a build of this number of rows by `processes` processes: by the
 * setting, and by statistics if there are any. key: the index's columns, then the tid.
 */
extern CodedColumns index_coded_columns(const CodedIndex *index, SortKey *key, double rows, int processes);

#endif /* GPUSORT_INDEX_CODED_COLUMNS_H */
