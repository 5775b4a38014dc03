/*
 * index/device_choice.h
 *		The device that sorts a build, and the memory of the build.
 */
#ifndef GPUSORT_INDEX_DEVICE_CHOICE_H
#define GPUSORT_INDEX_DEVICE_CHOICE_H

#include "postgres.h"

#include "utils/rel.h"

#include "base/devices.h"
#include "index/coded_columns.h"
#include "key/types.h"

/* The properties of a build that decide. */
typedef struct BuildShape
{
	double rows;
	int processes;
	bool is_fixed;		/* are the keys fixed? */
	bool keys_alone;	/* can the cpu device restore index tuples from their keys? */
	bool verified;		/* do the keys only guess the order? */
	double key_bytes;	/* bytes of one key, including the tuple's tid */
	double row_bytes;	/* bytes of one index tuple as a row */
	CodedColumns coded; /* what gets codes on the cpu device */
} BuildShape;

/* Returns the shape of a build of this index by `processes` processes. key: the order of the index. */
extern BuildShape build_shape(Relation heap, Relation index, SortKey *key, int processes);

/* Returns the bytes that the device needs to sort everything in memory. */
extern double build_memory(const BuildShape *shape, DeviceKind device);

/* Does the cpu device need temporary files, because build_memory is more than maintenance_work_mem? */
extern bool build_spills(const BuildShape *shape);

/* Returns the bytes of these files. */
extern double build_file_bytes(const BuildShape *shape);

/* Returns the device on which the build begins: with gpusort.backend auto the fastest one. */
extern DeviceKind build_device(const BuildShape *shape);

#endif /* GPUSORT_INDEX_DEVICE_CHOICE_H */
