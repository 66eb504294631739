package jwtauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uahive/uahive"
)

// Claims are what a token says, once it is believed (Part 6, 6.5.2.3).
type Claims struct {
	// Subject is who the user is to the issuer.
	Subject string
	// Issuer is the service that says so.
	Issuer string
	// Name is for people; it may be empty and proves nothing.
	Name string
	// Roles, Groups and Scopes are the lists "roles", "groups" and "scp".
	Roles, Groups, Scopes []string
	// Expires is when the token ends.
	Expires time.Time
	// All has every claim as it was decoded from JSON.
	All map[string]any
}

// Verify decides about one token. Its errors are for logs: they do not hold the
// token.
func (v *Verifier) Verify(ctx context.Context, token string) (*Claims, error) {
	if len(token) > v.config.MaxLength {
		return nil, fmt.Errorf("jwtauth: token of %d bytes, and %d are the most", len(token), v.config.MaxLength)
	}
	all := jwt.MapClaims{}
	_, err := v.parser.ParseWithClaims(token, all, func(t *jwt.Token) (any, error) { return v.key(ctx, t) })
	if err != nil {
		return nil, fmt.Errorf("jwtauth: %w", reason(err))
	}
	subject, err := all.GetSubject()
	if err != nil || subject == "" {
		return nil, errors.New("jwtauth: token names no subject")
	}
	expires, err := all.GetExpirationTime()
	if err != nil || expires == nil || !time.Now().Before(expires.Time) {
		// Leeway is for tokens that are not valid yet: a session would end at once.
		return nil, errors.New("jwtauth: token is expired")
	}
	name, _ := all["name"].(string)
	return &Claims{
		Subject: subject, Issuer: v.config.Issuer, Name: name, Expires: expires.Time,
		Roles: texts(all["roles"]), Groups: texts(all["groups"]), Scopes: texts(all["scp"]), All: all,
	}, nil
}

// key finds the key of a token, whose header has been read and nothing else. That
// the algorithm is an allowed one is known; that it fits the key, the library
// checks by the key's type.
func (v *Verifier) key(ctx context.Context, t *jwt.Token) (any, error) {
	kid := ""
	if given, ok := t.Header["kid"]; ok {
		if kid, ok = given.(string); !ok || len(kid) > maxKeyID {
			return nil, errors.New("key id is no short text")
		}
	}
	if v.config.Key == nil {
		key, ok := v.config.Keys[kid]
		if !ok {
			return nil, fmt.Errorf("no key with the id %q", kid)
		}
		return key, nil
	}
	key, err := v.config.Key(ctx, kid)
	if err != nil {
		return nil, err
	}
	return key, checkKey(key)
}

// reason names what the library found, in its own fixed words: its error texts can
// hold parts of the token.
func reason(err error) error {
	for _, known := range []error{
		jwt.ErrTokenUnverifiable, jwt.ErrTokenSignatureInvalid, jwt.ErrTokenExpired, jwt.ErrTokenNotValidYet,
		jwt.ErrTokenInvalidAudience, jwt.ErrTokenInvalidIssuer, jwt.ErrTokenRequiredClaimMissing, jwt.ErrTokenInvalidClaims,
	} {
		if errors.Is(err, known) {
			return known
		}
	}
	return jwt.ErrTokenMalformed
}

// texts takes the texts out of a list, or a text for a list of one.
func texts(claim any) []string {
	switch c := claim.(type) {
	case string:
		return []string{c}
	case []any:
		var list []string
		for _, item := range c {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

// Authenticate is for [uahive.Config.Authenticate], alone or from within the
// program's own function: it refuses what is no JSON Web Token. The user's name is
// issuer and subject, since a subject is unique with its issuer only (Part 6,
// 6.5.2.3); its groups and roles are those of the token, and Data is the *[Claims].
func (v *Verifier) Authenticate(ctx context.Context, c uahive.Credentials) (*uahive.User, error) {
	if c.Kind != uahive.TokenUser || c.TokenType != uahive.JWTProfile {
		return nil, fmt.Errorf("jwtauth: %v is no JSON Web Token", c.Kind)
	}
	claims, err := v.Verify(ctx, string(c.Token))
	if err != nil {
		return nil, err
	}
	user := &uahive.User{
		Name: claims.Issuer + "/" + claims.Subject, ValidUntil: claims.Expires, Data: claims,
		Groups: slices.Clone(claims.Groups), Claims: slices.Clone(claims.Roles),
	}
	if v.config.Roles != nil {
		user.Roles = v.config.Roles(claims)
	}
	return user, nil
}
