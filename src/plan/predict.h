/*
 * plan/predict.h
 *		How long a sort takes, by PostgreSQL's Sort and by GpuSort.
 *
 * A prediction is for the sort alone, without the time that its input takes.  Nothing here needs a running
 * server: tools/calibrate links it into a program of its own.
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
	KEY_INT,		 /* what PostgreSQL compares without a call: int4, int8, date, timestamp */
	KEY_PLAIN,		 /* other types of fixed width */
	KEY_FUNCTION,	 /* the same, without support for sorting: compared through the function manager */
	KEY_ABBREVIATED, /* fixed width, of which PostgreSQL sorts the first 8 bytes: uuid, macaddr */
	KEY_NUMERIC,	 /* from here on types of no fixed width */
	KEY_TEXT,		 /* strings in bytewise collations, and what is encoded like them */
	KEY_ICU,		 /* strings in ICU collations */
	KEY_LIBC,		 /* strings that the C library compares */
	KEY_LIBC_BYTES,	 /* the same, by their bytes or all but */
	KEY_MADE		 /* values made of others: arrays, ranges, composite values */
} SortKeyClass;

/* The order that rows come in, compared with the one that is wanted. */
typedef enum RowOrder
{
	ORDER_NONE,
	ORDER_NEARLY, /* all but a few */
	ORDER_EXACT,
	ORDER_REVERSED
} RowOrder;

typedef struct SortKeyShape
{
	SortKeyClass class;
	double width;	 /* bytes of a value on average */
	double distinct; /* how many values are expected; 0: not known, perhaps all differ */
	double leading;	 /* of strings: how many different first 8 bytes; 0: as many as values */
	bool padded;	 /* char(n): each comparison looks for the blanks at its end */
	bool known;		 /* of strings in an ICU collation: does this process know its characters? */
	bool verified;	 /* do its keys only guess at the order, which is verified by comparisons? */
	double largest;	 /* share of the rows that its most common value has; 1: not known */
} SortKeyShape;

/* What is to be sorted, by whom. */
typedef struct SortShape
{
	double rows;
	double wanted;		/* the most rows that are wanted; -1: all */
	int width;			/* bytes of a row's columns */
	bool single_column; /* the sort column is the only one */
	RowOrder order;		/* that the rows come in */
	double correlation; /* of the first column with the order of its table */
	double table_bytes; /* of the table that an index scan fetches them from; 0: no more than they have */
	double groups;		/* they come in order by their first columns, in so many groups; 0: they don't */
	int nkeys;
	const SortKeyShape *keys;
	double key_bytes;	 /* of a GpuSort's key, as it is kept beside its row */
	bool fixed_key;		 /* is that one of fixed width? */
	bool verified;		 /* does it only guess at the order, which is verified by comparisons? */
	bool keys_alone;	 /* does it say all of the row, so that the cpu device keeps no rows? */
	double memory;		 /* bytes that the sort may use; PostgreSQL's: each process */
	int processes;		 /* that sort, or feed, the leader included if it takes part */
	int beside;			 /* so many processes do one such sort each at once; 0: this one alone */
	bool returned_alone; /* do they leave before the first row is returned? */
	int cores;			 /* processors that there are for them */
	double share;		 /* how much of one each process after the first adds; 0: as the table says */
	double launch;		 /* how much of COST_LAUNCH is charged; 0: the plan is serial */
	bool on_gpu;
	double device_memory; /* bytes of one GPU's memory that a sort may have; 0: not known */
} SortShape;

/* How many of each term. */
typedef struct CostCounts
{
	double first[COST_TERMS]; /* until the first row is there */
	double rest[COST_TERMS];  /* to return all others */
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

/* How many times as much the processes do as one of them would. */
extern double running_processes(const SortShape *shape);

/* Of all rows, or of those wanted. */
extern double sort_time_total(const SortShape *shape, SortTime time);

/* Those of a sort that are for the launch of its processes. */
extern double predict_launch(const SortShape *shape);

/* Milliseconds that a Gather takes to pass on all rows, more than its processes take to make them. */
extern double predict_gather(const SortShape *shape);

/* Milliseconds that an index scan takes longer, to and fro in the table; as so many of COST_INPUT_FETCH. */
extern double predict_fetches(const SortShape *shape);
extern double count_fetches(const SortShape *shape);

/*
 * Bytes that the sort takes where all that it keeps is in memory, whatever it may use; of each process, by
 * PostgreSQL's.  On a GPU those of the GPU.
 */
extern double predict_postgres_memory(const SortShape *shape);
extern double predict_gpusort_memory(const SortShape *shape);

/* Bytes of temporary files that the sort is expected to write, each counted once. */
extern double predict_postgres_temp(const SortShape *shape);
extern double predict_gpusort_temp(const SortShape *shape);

/* Are our temporary files clearly more than theirs? */
extern bool temp_is_clearly_more(double ours, double theirs);

/* Is ours so much faster that it may write them all the same? */
extern bool is_worth_files(double ours, double theirs);

/* Milliseconds that an input of this cost takes. */
extern double predict_input(double cost);

/* ---------------------------------------------------------------- for files that count terms */

/* What part of accesses in no order to so many bytes misses the cache. */
extern double share_far(const SortShape *shape, double bytes);

/* Bytes of memory beyond the cache: they are touched for the first time, and pages come from the kernel. */
extern double bytes_beyond_cache(double bytes);

/* Comparisons a row that tell so many values apart. */
extern double levels_of(double values);

/* How many rows a sort that wants so many keeps for a while: they are lower than what was seen before. */
extern double rows_kept(const SortShape *shape, double rows, double wanted);

/* How many different values the column has in so many rows. */
extern double key_values(const SortKeyShape *key, double rows);

/* Bytes of a string that comparisons by the C library look at: all, if many agree in their first ones. */
extern double compared_bytes(const SortKeyShape *key, double rows);

/* Milliseconds that so many of each term take. */
extern double predict_counts(const CostCounts *counts);

extern void count_launch(const SortShape *shape, CostCounts *counts);

#endif /* GPUSORT_PLAN_PREDICT_H */
