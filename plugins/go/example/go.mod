module example

go 1.19

require github.com/OWNER/contrail/plugins/go v0.0.0

replace github.com/OWNER/contrail/plugins/go => ../
