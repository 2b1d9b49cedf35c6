// Records what a stock Karmada's interpreter makes of the scripts that it brings, asked about the objects by which it tests
// them. Against that ours are held: crates/propagation-controllers/src/interpreter/stock_scripts_tests.rs.
//
//	go run . >../../../crates/propagation-controllers/src/interpreter/stock_scripts_tests.json
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/customized/declarative"
)

const (
	module  = "github.com/karmada-io/karmada"
	scripts = "pkg/resourceinterpreter/default/thirdparty/resourcecustomizations"
)

// A question of customizations_tests.yaml.
type question struct {
	Operation string `json:"operation"`
	Desired   string `json:"desiredInputPath"`
	Observed  string `json:"observedInputPath"`
	Status    string `json:"statusInputPath"`
	Replicas  int64  `json:"desiredReplicas"`
}

func main() {
	log.SetFlags(0)
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	check(err, "where is "+module)
	root := filepath.Join(strings.TrimSpace(string(folder)), scripts)
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*", "customizations.yaml"))
	check(err, root)
	sort.Strings(files)
	var kinds []string
	for _, file := range files {
		kind, err := filepath.Rel(root, filepath.Dir(file))
		check(err, file)
		kinds = append(kinds, fmt.Sprintf(" %s: {\n%s\n }", text(kind), answers(filepath.Dir(file))))
	}
	fmt.Printf("{\n%s\n}\n", strings.Join(kinds, ",\n"))
}

// The answers about one kind, a line each.
func answers(folder string) string {
	customization := &configv1alpha1.ResourceInterpreterCustomization{}
	read(filepath.Join(folder, "customizations.yaml"), customization)
	interpreter := declarative.NewConfigurableInterpreter(nil)
	interpreter.LoadConfig([]*configv1alpha1.ResourceInterpreterCustomization{customization})
	tests := struct {
		Tests []question `json:"tests"`
	}{}
	read(filepath.Join(folder, "customizations_tests.yaml"), &tests)
	var lines []string
	for _, asked := range tests.Tests {
		asked.Operation = strings.TrimSpace(asked.Operation)
		// Its answer is used by nobody here.
		if asked.Operation == "InterpretComponent" {
			continue
		}
		name := asked.Operation
		for _, file := range []string{asked.Desired, asked.Observed} {
			if file != "" {
				name += " " + path.Base(file)
			}
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", text(name), text(answer(interpreter, folder, asked))))
	}
	sort.Strings(lines)
	return strings.Join(lines, ",\n")
}

// What the interpreter makes of it; of an object that it changes how, as a merge patch.
func answer(interpreter *declarative.ConfigurableInterpreter, folder string, asked question) any {
	var objects []*unstructured.Unstructured
	for _, file := range []string{asked.Desired, asked.Observed} {
		if file != "" {
			object := &unstructured.Unstructured{}
			read(filepath.Join(folder, file), &object.Object)
			objects = append(objects, object)
		}
	}
	object := objects[0]
	before := plain(object.Object)
	var given any
	var err error
	switch asked.Operation {
	case "InterpretHealth":
		given, _, err = interpreter.InterpretHealth(object)
	case "InterpretReplica":
		replicas, requirements, _, failed := interpreter.GetReplicas(object)
		given, err = map[string]any{"replicas": replicas, "requirements": requirements}, failed
	case "InterpretStatus":
		given, _, err = interpreter.ReflectStatus(object)
	case "InterpretDependency":
		given, _, err = interpreter.GetDependencies(object)
		if reflect.ValueOf(given).IsNil() {
			given = []any{}
		}
	case "ReviseReplica":
		revised, _, failed := interpreter.ReviseReplica(object, asked.Replicas)
		given, err = change(before, plain(revised)), failed
	case "Retain":
		retained, _, failed := interpreter.Retain(object, objects[1])
		given, err = change(before, plain(retained)), failed
	case "AggregateStatus":
		aggregated, _, failed := interpreter.AggregateStatus(object, items(filepath.Join(folder, asked.Status)))
		given, err = change(status(before), status(plain(aggregated))), failed
	default:
		log.Fatalf("%s: an operation that is not known: %s", folder, asked.Operation)
	}
	check(err, folder+" "+asked.Operation)
	return plain(given)
}

func items(file string) []workv1alpha2.AggregatedStatusItem {
	content, err := os.ReadFile(file)
	check(err, file)
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var all []workv1alpha2.AggregatedStatusItem
	for {
		item := workv1alpha2.AggregatedStatusItem{}
		err := decoder.Decode(&item)
		if errors.Is(err, io.EOF) {
			return all
		}
		check(err, file)
		all = append(all, item)
	}
}

func status(object any) any {
	if status, there := object.(map[string]any)["status"]; there {
		return status
	}
	return map[string]any{}
}

// What makes one of the other, as a merge patch; nil where they are the same.
func change(from, to any) any {
	before, isObject := from.(map[string]any)
	after, too := to.(map[string]any)
	if !isObject || !too {
		if reflect.DeepEqual(from, to) {
			return nil
		}
		return to
	}
	patch := map[string]any{}
	for name, value := range after {
		if present, there := before[name]; !there {
			patch[name] = value
		} else if changed := change(present, value); changed != nil {
			patch[name] = changed
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			patch[name] = nil
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// A value as JSON has it; a text with the time of this run is NOW.
func plain(value any) any {
	encoded, err := json.Marshal(value)
	check(err, "encode")
	var decoded any
	check(json.Unmarshal(encoded, &decoded), "decode")
	today := time.Now().UTC().Format(time.DateOnly)
	var walk func(any) any
	walk = func(value any) any {
		switch value := value.(type) {
		case string:
			if strings.HasPrefix(value, today) {
				return "NOW"
			}
		case []any:
			for place := range value {
				value[place] = walk(value[place])
			}
		case map[string]any:
			for name := range value {
				value[name] = walk(value[name])
			}
		}
		return value
	}
	return walk(decoded)
}

func text(value any) string {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value), "encode")
	return strings.TrimSpace(encoded.String())
}

func read(file string, into any) {
	content, err := os.ReadFile(file)
	check(err, file)
	check(yaml.Unmarshal(content, into), file)
}

func check(err error, what string) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}
