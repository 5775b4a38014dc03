/*
 * plan/sort_shape.h
 *		The properties of a sort that decide its time, as data.  shape.h fills them in.
 */
#ifndef GPUSORT_PLAN_SORT_SHAPE_H
#define GPUSORT_PLAN_SORT_SHAPE_H

#include "postgres.h"

#include "base/devices.h"

/* How a sort column is compared and encoded. */
typedef enum SortKeyClass
{
	KEY_INT,		 /* types that PostgreSQL compares without a call: int4, int8, date, timestamp */
	KEY_PLAIN,		 /* other types of fixed width */
	KEY_FUNCTION,	 /* fixed width, without support for sorting: compared through the function manager */
	KEY_ABBREVIATED, /* fixed width; PostgreSQL sorts the first 8 bytes: uuid, macaddr */
	KEY_NUMERIC,	 /* from here on types without fixed width */
	KEY_TEXT,		 /* strings in bytewise collations, and types with the same encoding */
	KEY_ICU,		 /* strings in ICU collations */
	KEY_LIBC,		 /* strings that the C library compares */
	KEY_LIBC_BYTES,	 /* strings that the C library compares by their bytes, or nearly so */
	KEY_MADE		 /* values that consist of other values: arrays, ranges, composite values */
} SortKeyClass;

/* The order of the input rows, compared with the wanted order. */
typedef enum RowOrder
{
	ORDER_NONE,
	ORDER_NEARLY, /* except for a few rows */
	ORDER_EXACT,
	ORDER_REVERSED
} RowOrder;

typedef struct SortKeyShape
{
	SortKeyClass class;
	double width;	 /* bytes of a value on average */
	double distinct; /* expected number of different values; 0: not known, perhaps all differ */
	double leading;	 /* strings: number of different first 8 bytes; 0: as many as values */
	bool padded;	 /* char(n): each comparison looks for the blanks at its end */
	bool known;		 /* strings in an ICU collation: does this process have its table of characters? */
	bool verified;	 /* do the keys only guess the order, which comparisons verify? */
	double largest;	 /* share of the rows with the most common value; 1: not known */
} SortKeyShape;

/* The properties of a sort and of its processes. */
typedef struct SortShape
{
	double rows;
	double wanted;		/* the most rows that are wanted; -1: all */
	int width;			/* bytes of a row's columns */
	bool single_column; /* the sort column is the only one */
	bool formed;		/* are rows formed from values, not copied as a table has them? */
	RowOrder order;		/* order of the input rows */
	double correlation; /* correlation of the first column with the order of its table */
	/* bytes of the table from which an index scan fetches the rows; 0: not more than the rows */
	double table_bytes;
	double groups; /* number of groups if the rows are in order by their first columns; 0: they are not */
	int nkeys;
	const SortKeyShape *keys;
	double key_bytes;	  /* bytes of a GpuSort's key, as kept beside its row */
	bool fixed_key;		  /* does that key have fixed width? */
	bool verified;		  /* does that key only guess the order, which comparisons verify? */
	bool keys_alone;	  /* does that key tell the whole row, so that the cpu device keeps no rows? */
	double memory;		  /* bytes that the sort may use; for PostgreSQL's sort, each process */
	double rows_of_group; /* number of rows that are wanted of each group; 0: all */
	int group_columns;	  /* number of the first columns that form these groups */
	int processes;		  /* processes that sort, or feed, including the leader if it takes part */
	int beside; /* number of processes that do one such sort each at the same time; 0: only this one */
	bool returned_alone; /* do the workers leave before the first row is returned? */
	int cores;			 /* processors for the processes */
	/* part of a processor that each process after the first adds; 0: the figure of cost_terms.h */
	double share;
	double launch; /* part of COST_LAUNCH that is charged; 0: the plan is serial */
	DeviceKind device;
	double device_memory; /* bytes of the device's own memory that a sort may use; 0: not known */
} SortShape;

#endif /* GPUSORT_PLAN_SORT_SHAPE_H */
