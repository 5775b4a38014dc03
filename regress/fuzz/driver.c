/*
 * regress/fuzz/driver.c
 *		Runs a target within a backend: each file of a corpus once, or with libFuzzer as long as is wanted.
 *
 * CREATE FUNCTION fuzz_replay(target text, folder text) RETURNS int LANGUAGE C STRICT AS 'gpusort_fuzz';
 * CREATE FUNCTION fuzz_run(target text, arguments text[]) RETURNS void LANGUAGE C STRICT AS 'gpusort_fuzz';
 *
 * The targets need what setup.sql makes.  fuzz_run is there if the module was built with FUZZER=1.  libFuzzer
 * ends the process when it is through or has found something, so it needs a server in single-user mode.
 */
#include "postgres.h"

#include <dirent.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "storage/fd.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fuzz.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(fuzz_replay);

static const FuzzTarget *const targets[] = {&fuzz_keys, &fuzz_pages};

/* The target that is run, the memory of one case, and the file that it came from; NULL: from libFuzzer. */
static const FuzzTarget *target;
static MemoryContext case_context;
static const char *case_file;

void
fuzz_fail(const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (case_file != NULL)
		ereport(ERROR, errmsg("%s: %s", case_file, text));
	fprintf(stderr, "FAILED: %s: %s\n", target->name, text);
	abort();
}

static void
choose_target(const char *name)
{
	target = NULL;
	for (int i = 0; i < lengthof(targets); i++)
	{
		if (strcmp(targets[i]->name, name) == 0)
			target = targets[i];
	}
	if (target == NULL)
		ereport(ERROR, errmsg("there is no target \"%s\"", name));
	target->prepare();
	case_context = AllocSetContextCreate(CurrentMemoryContext, "case", ALLOCSET_DEFAULT_SIZES);
}

static void
run_case(const uint8 *bytes, Size size)
{
	FuzzInput input = {bytes, bytes + size};
	MemoryContext caller = MemoryContextSwitchTo(case_context);

	target->run(&input);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(case_context);
}

/* ---- each file once ---- */

static void
replay_file(const char *path)
{
	FILE *file = AllocateFile(path, "rb");
	uint8 *bytes = palloc(MaxAllocSize / 16);
	Size size;

	if (file == NULL)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\": %m", path)));
	size = fread(bytes, 1, MaxAllocSize / 16, file);
	FreeFile(file);
	case_file = path;
	run_case(bytes, size);
	case_file = NULL;
	pfree(bytes);
}

/* How many there were. */
Datum
fuzz_replay(PG_FUNCTION_ARGS)
{
	const char *folder = text_to_cstring(PG_GETARG_TEXT_PP(1));
	DIR *dir = AllocateDir(folder);
	struct dirent *entry;
	int32 nfiles = 0;

	choose_target(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	while ((entry = ReadDir(dir, folder)) != NULL)
	{
		if (entry->d_name[0] == '.')
			continue;
		replay_file(psprintf("%s/%s", folder, entry->d_name));
		nfiles++;
	}
	FreeDir(dir);
	PG_RETURN_INT32(nfiles);
}

/* ---- libFuzzer ---- */

#ifdef FUZZER

extern int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8 *bytes, size_t size));

PG_FUNCTION_INFO_V1(fuzz_run);

static int
run_case_of_fuzzer(const uint8 *bytes, size_t size)
{
	run_case(bytes, size);
	return 0;
}

/* An error that no target expects would be libFuzzer's end, without the case that it came of. */
static int
run_case_or_abort(const uint8 *bytes, size_t size)
{
	MemoryContext caller = CurrentMemoryContext;

	PG_TRY();
	{
		return run_case_of_fuzzer(bytes, size);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		fuzz_fail("error: %s", CopyErrorData()->message);
	}
	PG_END_TRY();
	return 0;
}

Datum
fuzz_run(PG_FUNCTION_ARGS)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
	Datum *words;
	int nwords;
	char **argv;

	choose_target(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &words, NULL, &nwords);
	argv = palloc0(sizeof(char *) * (nwords + 2));
	argv[0] = "fuzz";
	for (int i = 0; i < nwords; i++)
		argv[i + 1] = TextDatumGetCString(words[i]);
	nwords++;
	LLVMFuzzerRunDriver(&nwords, &argv, run_case_or_abort);
	PG_RETURN_VOID();
}

#endif
