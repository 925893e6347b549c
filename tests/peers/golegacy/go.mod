module golegacy

go 1.21
