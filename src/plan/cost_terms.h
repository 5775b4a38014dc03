/*
 * plan/cost_terms.h
 *		What the time of a sort is the sum of: one line a term, its name and what one of it is.
 *
 * predict.c counts how many of each a sort has, cost_table.h says how many nanoseconds one takes, and
 * tools/calibrate measures these.  A level is one comparison a row: n rows that all differ take log2(n)
 * levels.
 */

/* PostgreSQL's Sort */
COST_TERM(PG_START, "a Sort, whatever its rows")
COST_TERM(PG_PUT, "a row copied into a tuple of its own")
COST_TERM(PG_PUT_BYTE, "a byte of it")
COST_TERM(PG_PUT_DATUM, "the only column of a row, put as a datum")
COST_TERM(PG_CONVERT_NUMERIC, "a numeric abbreviated")
COST_TERM(PG_CONVERT_TEXT, "a string in a bytewise collation abbreviated")
COST_TERM(PG_CONVERT_ICU, "a string in an ICU collation abbreviated")
COST_TERM(PG_CONVERT_ICU_BYTE, "a byte of it")
COST_TERM(PG_LEVEL_INT, "a level of integers and dates: comparisons compiled into the sort")
COST_TERM(PG_LEVEL_PLAIN, "a level of other types that have a comparison function for sorts")
COST_TERM(PG_LEVEL_FUNCTION, "a level of types that are compared through the function manager")
COST_TERM(PG_LEVEL_ABBREVIATED, "a level of abbreviated keys")
COST_TERM(PG_TIE,
		  "a level in which a column after one that ties, or what an abbreviated key left out, decides")
COST_TERM(PG_TIE_NUMERIC, "the same, more for numeric")
COST_TERM(PG_TIE_TEXT, "the same, more for strings in bytewise collations")
COST_TERM(PG_TIE_ICU, "the same, more for strings in ICU collations")
COST_TERM(PG_TIE_FAR, "the same, more if the rows are in no order and more than a cache")
COST_TERM(PG_HEAP, "a row looked at by a top-N heapsort, beyond putting it and comparing it once")
COST_TERM(PG_GET, "a row returned")
COST_TERM(PG_GET_BYTE, "a byte of it")
COST_TERM(PG_GET_FAR, "the same, more if the rows are in no order and more than a cache")
COST_TERM(PG_SPILL, "a row written to a temporary file and read back once")
COST_TERM(PG_SPILL_BYTE, "a byte of it")
COST_TERM(PG_INCREMENTAL, "a row of an incremental sort, more than of another")
COST_TERM(PG_GROUP, "a sort of one group or some small ones in it")
COST_TERM(PG_GATHER, "a row passed from process to process in a Gather Merge")
COST_TERM(PG_GATHER_BYTE, "a byte of it")

/* both */
COST_TERM(LAUNCH, "a parallel plan's beginning and end")
COST_TERM(LAUNCH_WORKER, "a worker of it")
COST_TERM(INPUT, "a unit of the planner's cost, of an input that is in memory")

/* GpuSort on the cpu device */
COST_TERM(START, "a GpuSort, whatever its rows")
COST_TERM(START_ICU, "an ICU collation made ready for one")
COST_TERM(FEED, "a row copied beside its key")
COST_TERM(FEED_BYTE, "a byte of it")
COST_TERM(ENCODE_FIXED, "a column of fixed width encoded")
COST_TERM(ENCODE_NUMERIC, "a numeric encoded")
COST_TERM(ENCODE_TEXT, "a string encoded bytewise")
COST_TERM(ENCODE_ICU, "a string encoded by an ICU collation")
COST_TERM(ENCODE_ICU_EARLY, "one of the first strings in an ICU collation, more")
COST_TERM(KEY_BYTE, "a byte of a string's key")
COST_TERM(ICU_BYTE, "a byte of a string in an ICU collation, more")
COST_TERM(SORT_FIXED, "a row with a key of fixed width sorted")
COST_TERM(SORT_FIXED_LEVEL, "a level of them")
COST_TERM(SORT_STRING, "a row with another key sorted")
COST_TERM(SORT_STRING_LEVEL, "a level of them")
COST_TERM(SORT_STRING_TIE, "8 more bytes of such a key looked at, because the first ones tie")
COST_TERM(RETURN, "a row returned")
COST_TERM(RETURN_BYTE, "a byte of it")
COST_TERM(RETURN_FAR, "the same, more if the rows are in no order and more than a cache")
COST_TERM(RETURN_SHARED, "the same, more if several processes fed it")
COST_TERM(SPILL, "a row written to a sorted run and read back once")
COST_TERM(SPILL_BYTE, "a byte of it and its key")
COST_TERM(MERGE_LEVEL, "a level of merging runs")
COST_TERM(PASS, "a row that found no room and is passed to the leader")
COST_TERM(START_BOUND, "a bounded sort, more than another one, whatever its rows")
COST_TERM(BOUND, "a row that a bounded sort looks at")
COST_TERM(BOUND_KEPT, "one that it keeps, for the time being, more than another sort")

/* GpuSort on the cuda device; its rows are fed as on the other one */
COST_TERM(CUDA_JOB, "a job, whatever its rows")
COST_TERM(CUDA_SORT, "a row sorted there")
COST_TERM(CUDA_BYTE, "a byte of a row and its key on its way back")
COST_TERM(CUDA_RETURN, "a row returned")
