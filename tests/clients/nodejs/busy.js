// A busy program under the official Node.js SDK of Pyroscope: functions with a known share of the
// time, and memory that is kept.
'use strict';
const Pyroscope = require('@pyroscope/nodejs');

let sink = 0;
const kept = [];

function heavy(rounds) {
	let x = rounds | 1;
	for (let i = 0; i < rounds; i++) x = (Math.imul(x, 1103515245) + 12345) | 0;
	sink += x;
}

function light(rounds) {
	let x = rounds | 3;
	for (let i = 0; i < rounds; i++) x = (Math.imul(x, 69069) + 1) | 0;
	sink -= x;
}

function hoard() {
	kept.push(new Array(1 << 15).fill(kept.length));
}

// Slices of any length from none, so that they cannot keep step with the profiler's clock.
async function work(seconds) {
	const end = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
	let heavyNs = 0n, lightNs = 0n;
	while (process.hrtime.bigint() < end) {
		for (let i = 0; i < 5; i++) {
			const begin = process.hrtime.bigint();
			heavy(1 + Math.floor(Math.random() * 18e6));
			const middle = process.hrtime.bigint();
			light(1 + Math.floor(Math.random() * 6e6));
			heavyNs += middle - begin;
			lightNs += process.hrtime.bigint() - middle;
		}
		if (kept.length < 256) hoard();
		// The SDK sends from timers of the same loop.
		await new Promise((resolve) => setTimeout(resolve, 1));
	}
	return {heavy: Number(heavyNs), light: Number(lightNs)};
}

async function main() {
	Pyroscope.init({
		appName: process.env.CLIENT_SERVICE,
		serverAddress: process.env.CLIENT_SERVER,
		tags: {region: 'north'},
		flushIntervalMs: 4000,
		wall: {collectCpuTime: true},
	});
	Pyroscope.start();
	const result = await work(Number(process.env.CLIENT_SECONDS));
	await Pyroscope.stop();
	console.log(JSON.stringify(result));
}

main();
