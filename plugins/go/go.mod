module github.com/OWNER/contrail/plugins/go

go 1.19
