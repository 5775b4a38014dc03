/*
 * index/check.h
 *		gpusort_check of index builds: would gpusort take a build, and how would it be done?
 *
 *		check			the statements that build indexes, and which indexes
 *		check_new		an index that a statement would make
 *		check_build		an index that there is; the row for a build
 */
#ifndef GPUSORT_INDEX_CHECK_H
#define GPUSORT_INDEX_CHECK_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "base/declined.h"
#include "check/result.h"
#include "index/device_choice.h"

/* Puts a row for the index that the statement would make. label: its name in the row, or NULL. */
extern void check_new_index(Check *check, Relation heap, const IndexStmt *statement, const char *label);

/*
 * Puts a row for an index that is built again.  with_others: indexes of other access methods are built again
 * too.
 */
extern void check_existing_index(Check *check, Relation heap, Relation index, bool with_others);

/*
 * Puts the row of a build. key: the index's columns in words.  why_not: NULL if gpusort takes the build.
 * build: the shape; if the build is not taken, only its processes are set, or build is NULL.
 */
extern void check_put_build(Check *check, const char *key, const BuildShape *build, const Declined *why_not);

/* Does gpusort build indexes of this access method? */
extern bool index_method_is_ours(const char *access_method, Declined *why_not);

/* Returns the key columns of an existing index, in words. */
extern const char *index_key_in_words(Relation index);

#endif /* GPUSORT_INDEX_CHECK_H */
