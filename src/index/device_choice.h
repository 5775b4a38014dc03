/*
 * index/device_choice.h
 *		On which device a build sorts, and what memory it takes.
 */
#ifndef GPUSORT_INDEX_DEVICE_CHOICE_H
#define GPUSORT_INDEX_DEVICE_CHOICE_H

#include "postgres.h"

#include "utils/rel.h"

#include "key/sort_key.h"

/* What decides it. */
typedef struct BuildShape
{
	double rows;
	int processes;
	bool is_fixed;	  /* are its keys? */
	bool keys_alone;  /* can the cpu device make index tuples of their keys? */
	bool verified;	  /* do they only guess at the order? */
	double key_bytes; /* of one key, the tuple's tid included */
	double row_bytes; /* of one index tuple as a row */
} BuildShape;

/* Of a build of this index by so many processes; key: its order. */
extern BuildShape build_shape(Relation heap, Relation index, const SortKey *key, int processes);

/* Bytes that the cpu device takes for what is sorted, if all of it is in memory. */
extern double build_memory(const BuildShape *shape);

/* Is that more than maintenance_work_mem, so that the cpu device needs temporary files? */
extern bool build_spills(const BuildShape *shape);

/* Bytes of these files. */
extern double build_file_bytes(const BuildShape *shape);

/*
 * Does the build begin on a card?  None does whose order is verified.  With gpusort.backend auto that is
 * where it is expected to be faster, if there is one.
 */
extern bool build_uses_gpu(const BuildShape *shape);

#endif /* GPUSORT_INDEX_DEVICE_CHOICE_H */
