/*
 * plan/predict.h
 *		The time of a sort, by PostgreSQL's Sort and by GpuSort.
 *
 * A prediction is for the sort alone, without the time of its input.  Nothing here needs a running server:
 * tools/calibrate links this code into a separate program.
 */
#ifndef GPUSORT_PLAN_PREDICT_H
#define GPUSORT_PLAN_PREDICT_H

#include "postgres.h"

typedef enum CostTerm
{
#define COST_TERM(name, ns, what) COST_##name,
#include "plan/cost_terms.h"
#undef COST_TERM
	COST_TERMS
} CostTerm;

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
	bool on_gpu;
	double device_memory; /* bytes of one GPU's memory that a sort may use; 0: not known */
} SortShape;

/* The counts of each term. */
typedef struct CostCounts
{
	double first[COST_TERMS]; /* until the first row */
	double rest[COST_TERMS];  /* for all other rows */
} CostCounts;

/* Milliseconds. */
typedef struct SortTime
{
	double first;
	double rest;
} SortTime;

extern CostCounts count_postgres_sort(const SortShape *shape);
extern CostCounts count_gpusort(const SortShape *shape);

extern SortTime predict_postgres_sort(const SortShape *shape);
extern SortTime predict_gpusort(const SortShape *shape);

/* Returns how many times as much work all processes do as one process would. */
extern double running_processes(const SortShape *shape);

/* Returns the total time for all rows, or for the wanted rows. */
extern double sort_time_total(const SortShape *shape, SortTime time);

/* Returns the milliseconds for the launch of a sort's processes. */
extern double predict_launch(const SortShape *shape);

/*
 * Returns the milliseconds that a Gather needs to pass all rows, in addition to the time of its processes.
 */
extern double predict_gather(const SortShape *shape);

/*
 * predict_fetches: returns the additional milliseconds of an index scan for random access to the table.
 * count_fetches: returns the same as a count of COST_INPUT_FETCH.
 */
extern double predict_fetches(const SortShape *shape);
extern double count_fetches(const SortShape *shape);

/*
 * Return the bytes that the sort needs to keep everything in memory, regardless of its limit.  For
 * PostgreSQL's sort: of each process.  On a GPU: of the GPU's memory.
 */
extern double predict_postgres_memory(const SortShape *shape);
extern double predict_gpusort_memory(const SortShape *shape);

/* Are most rows left, if only the first ones of each group are wanted?  False if that is not known. */
extern bool predict_few_drop(const SortShape *shape);

/* Bytes of temporary files that the sort is expected to write, each counted once. */
extern double predict_postgres_temp(const SortShape *shape);
extern double predict_gpusort_temp(const SortShape *shape);

/* Are gpusort's temporary files clearly larger than PostgreSQL's? */
extern bool temp_is_clearly_more(double ours, double theirs);

/* Is gpusort's sort fast enough to write them anyway? */
extern bool is_worth_files(double ours, double theirs);

/* Returns the milliseconds of an input with this cost. */
extern double predict_input(double cost);

/* ---------------------------------------------------------------- for files that count terms */

/* Returns the share of random accesses to `bytes` bytes that miss the cache. */
extern double share_far(const SortShape *shape, double bytes);

/*
 * Returns the bytes of memory beyond the cache.  They are touched for the first time, and the kernel makes
 * their pages.
 */
extern double bytes_beyond_cache(double bytes);

/* Returns the comparisons for each row that distinguish this number of values. */
extern double levels_of(double values);

/*
 * Returns the number of rows that a bounded sort keeps for a while, because they are lower than the rows
 * before. wanted: the bound.
 */
extern double rows_kept(const SortShape *shape, double rows, double wanted);

/* Returns the number of different values of the column in `rows` rows. */
extern double key_values(const SortKeyShape *key, double rows);

/*
 * Returns the bytes of a string that comparisons by the C library read: all, if many strings agree in their
 * first bytes.
 */
extern double compared_bytes(const SortKeyShape *key, double rows);

/* Returns the milliseconds of these counts of each term. */
extern double predict_counts(const CostCounts *counts);

extern void count_launch(const SortShape *shape, CostCounts *counts);

#endif /* GPUSORT_PLAN_PREDICT_H */
