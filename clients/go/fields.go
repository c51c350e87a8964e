package weir

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Whole numbers from here on are not exact in every language.
const countMax = 1 << 53

// fields are those of a JSON object, by their exact names: encoding/json alone would accept other cases and leave absent fields empty.
// The first fault is retained.
type fields struct {
	values map[string]json.RawMessage
	fault  *Error
}

func fieldsOf(content []byte, what string) *fields {
	found := &fields{}
	if err := json.Unmarshal(content, &found.values); err != nil || found.values == nil {
		found.fail(what, "a JSON object")
	}
	return found
}

func (f *fields) fail(name, expected string) {
	if f.fault == nil {
		f.fault = invalid(name, expected)
	}
}

func (f *fields) has(name string) bool {
	_, found := f.values[name]
	return found
}

func (f *fields) flag(name string) bool {
	text := string(f.values[name])
	if text != "true" && text != "false" {
		f.fail(name, "true or false")
	}
	return text == "true"
}

// buffered is whether the gate holds the call until Redis returns. Older gates do not send it.
func (f *fields) buffered() bool { return f.has("buffered") && f.flag("buffered") }

func (f *fields) count(name string) int64 {
	number, err := strconv.ParseInt(string(f.values[name]), 10, 64)
	if err != nil || number < 0 || number >= countMax {
		f.fail(name, "a whole number")
	}
	return number
}

func (f *fields) countOrNull(name string) *int64 {
	if f.isNull(name) {
		return nil
	}
	number := f.count(name)
	return &number
}

func (f *fields) text(name string) string {
	text, valid := textOf(f.values[name])
	if !valid {
		f.fail(name, "a string")
	}
	return text
}

func (f *fields) oneOf(name string, values ...string) string {
	text := f.text(name)
	for _, value := range values {
		if text == value {
			return text
		}
	}
	f.fail(name, strings.Join(values, " or "))
	return text
}

func (f *fields) oneOfOrNull(name string, values ...string) string {
	if f.isNull(name) {
		return ""
	}
	return f.oneOf(name, values...)
}

func (f *fields) list(name string) []json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(f.values[name], &items) != nil || items == nil {
		f.fail(name, "a list")
	}
	return items
}

func (f *fields) texts(name string) []string {
	var texts []string
	for _, item := range f.list(name) {
		text, valid := textOf(item)
		if !valid {
			f.fail(name, "a list of strings")
		}
		texts = append(texts, text)
	}
	return texts
}

func (f *fields) isNull(name string) bool { return string(f.values[name]) == "null" }

func textOf(value json.RawMessage) (string, bool) {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}
