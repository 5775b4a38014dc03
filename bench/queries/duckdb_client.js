// What psql is to PostgreSQL, for DuckDB, as far as bench/queries/duckdb needs it.
//
//	node duckdb_client.js DATABASE THREADS MEMORY < SQL
//
// Opens a database file, which is made if there is none, with so many threads and so much memory ('4096MB'),
// and runs the statements on stdin, a line each.  Prints the rows of a result as psql -A -t does, with | between
// the columns, and after a line \timing on "Time: 12.345 ms" behind the result of each statement, which is taken
// here, around the statement alone; \timing off ends that, \o hides results.  The first error goes to stderr and
// ends the program with status 1.
//
// Needs the package @duckdb/node-api; NODE_PATH names the folder that it is in.
'use strict';

const fs = require('fs');
const path = require('path');
const { DuckDBInstance } = require('@duckdb/node-api');

async function runStatement(connection, statement, session) {
	const began = process.hrtime.bigint();
	const result = await connection.runAndReadAll(statement);
	const ms = Number(process.hrtime.bigint() - began) / 1e6;

	if (!session.hidden) {
		for (const row of result.getRowsJson()) {
			console.log(row.join('|'));
		}
	}
	if (session.timing) {
		console.log(`Time: ${ms.toFixed(3)} ms`);
	}
}

async function main(database, threads, memory) {
	const instance = await DuckDBInstance.create(database, {
		threads, memory_limit: memory, temp_directory: path.join(path.dirname(database), 'duckdb_temp'),
		allow_unsigned_extensions: 'true', // for one that was built by hand
	});
	const connection = await instance.connect();
	const session = { timing: false, hidden: false };

	for (const line of fs.readFileSync(0, 'utf8').split('\n').map((line) => line.trim())) {
		switch (line) {
			case '': break;
			case '\\timing on': session.timing = true; break;
			case '\\timing off': session.timing = false; break;
			case '\\o /dev/null': session.hidden = true; break;
			case '\\o': session.hidden = false; break;
			default: await runStatement(connection, line, session);
		}
	}
	connection.closeSync();
	instance.closeSync();
}

main(...process.argv.slice(2)).catch((error) => {
	console.error(`duckdb: ${error.message}`);
	process.exitCode = 1;
});
