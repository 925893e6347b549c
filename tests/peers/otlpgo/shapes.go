package main

import "strings"

// One dictionary for all shapes. Stacks: 1 = work inlined into main (one location), below start;
// 2 = an address without a name, below start.
const dictionary = `"dictionary": {
 "mappingTable": [{}, {"memoryStart": 4096, "memoryLimit": 36864, "fileOffset": 512,
  "filenameStrindex": 10, "attributeIndices": [3]}],
 "locationTable": [{},
  {"mappingIndex": 1, "address": 4352, "lines": [{"functionIndex": 2, "line": 20},
   {"functionIndex": 1, "line": 12}], "attributeIndices": [4]},
  {"mappingIndex": 1, "address": 4660},
  {"lines": [{"functionIndex": 3, "line": 1, "column": 5}]}],
 "functionTable": [{}, {"nameStrindex": 5, "filenameStrindex": 7, "startLine": 9},
  {"nameStrindex": 6, "systemNameStrindex": 13, "filenameStrindex": 7}, {"nameStrindex": 14}],
 "linkTable": [{}, {"traceId": "AAECAwQFBgcICQoLDA0ODw==", "spanId": "AAECAwQFBgc="}],
 "stringTable": ["", "samples", "count", "cpu", "nanoseconds", "main", "work", "main.c",
  "thread.name", "size", "/lib/libx.so", "process.executable.build_id.gnu",
  "profile.frame.type", "_Z4workv", "start", "bytes"],
 "attributeTable": [{}, {"keyStrindex": 8, "value": {"stringValue": "worker-1"}},
  {"keyStrindex": 9, "value": {"intValue": "4096"}, "unitStrindex": 15},
  {"keyStrindex": 11, "value": {"stringValue": "00112233445566778899aabbccddeeff00112233"}},
  {"keyStrindex": 12, "value": {"stringValue": "native"}}],
 "stackTable": [{}, {"locationIndices": [1, 3]}, {"locationIndices": [2, 3]}]}`

const cpuPeriod = `"periodType": {"typeStrindex": 3, "unitStrindex": 4}, "period": "50000000",
 "timeUnixNano": "1700000000000000000", "durationNano": "5000000000",
 "profileId": "EBESExQVFhcYGRobHB0eHw=="`

func message(resource, profile string) string {
	return `{"resourceProfiles": [{"resource": {"attributes": [` + resource +
		`]}, "scopeProfiles": [{"scope": {"name": "peer", "version": "1"}, "profiles": [` +
		profile + `]}]}], ` + dictionary + `}`
}

const service = `{"key": "service.name", "value": {"stringValue": "shop"}},
 {"key": "process.pid", "value": {"intValue": "42"}}`

func profile(kind, samples string) string {
	return `{"sampleType": ` + kind + `, "samples": [` + samples + `], ` + cpuPeriod + `}`
}

const count = `{"typeStrindex": 1, "unitStrindex": 2}`
const cpu = `{"typeStrindex": 3, "unitStrindex": 4}`

// Samples in the three shapes, and one type more.
const times = `{"stackIndex": 1, "attributeIndices": [1], "linkIndex": 1,
  "timestampsUnixNano": ["1700000000100000000", "1700000000200000000"]},
 {"stackIndex": 2, "timestampsUnixNano": ["1700000001000000000"]}`
const values = `{"stackIndex": 1, "attributeIndices": [1, 2], "linkIndex": 1, "values": ["3"]},
 {"stackIndex": 2, "values": ["70000"]}`
const both = `{"stackIndex": 1, "attributeIndices": [2], "values": ["5", "6"],
  "timestampsUnixNano": ["1700000000100000000", "1700000000200000000"]},
 {"stackIndex": 2, "values": ["-7"], "timestampsUnixNano": ["1700000001000000000"]}`
const other = `{"stackIndex": 1, "attributeIndices": [1, 2], "linkIndex": 1, "values": ["150"]},
 {"stackIndex": 2, "values": ["0"]}`

// Keys and values by reference: 1.10 and later.
const references = `{"keyStrindex": 8, "value": {"stringValueStrindex": 6}},
 {"key": "args", "value": {"arrayValue": {"values": [{"stringValueStrindex": 5},
  {"kvlistValue": {"values": [{"keyStrindex": 9, "value": {"doubleValue": 0.5}}]}},
  {"boolValue": true}]}}}`

var shapes = map[string]string{
	"times":      message(service, profile(count, times)),
	"values":     message(service, profile(cpu, values)),
	"both":       message(service, profile(cpu, both)),
	"types":      message(service, profile(count, values)+","+profile(cpu, other)),
	"references": message(references, profile(cpu, values)),
	"plainvalue": message(service, profile(cpu, strings.ReplaceAll(
		`{"stackIndex": 1, "values": ["3"]}, {"stackIndex": 2, "values": ["2"]}`, "\n", ""))),
}
