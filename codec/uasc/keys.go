package uasc

type (
	sealKeys struct{}
	openKeys struct{}
)

// NewToken derives the keys.
func NewToken(c TokenConfig) (*Token, error) { return nil, errPolicy }
